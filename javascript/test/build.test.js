import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { buildFigure, buildKit } from "../build.js";

test("the kit holds its own style, and a figure neither kit nor style of the kit", async () => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "figure-")), "one.js");
  await writeFile(
    file,
    'import { bars } from "kit"; export default { render: ({ el }) => el.append(bars({}).el) };',
  );
  const [kit, figure] = [await buildKit(), await buildFigure(file)];
  assert.ok(kit.includes(".d2lx-fill{"));
  assert.ok(figure.startsWith("// ") && figure.includes("figures.one="));
  assert.ok(!figure.includes("d2lx-fill"));
  for (const text of [kit, figure]) assert.ok(!text.includes("</script"));
});
