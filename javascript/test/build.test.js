import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { bundle, purged } from "../build.js";

/** @param {string} source */
async function built(source) {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "explorable-")), "one.js");
  await writeFile(file, source);
  return bundle(file);
}

test("a bundle takes of the kit, scripts and styles, what it uses", async () => {
  const small = await built(
    'import { sum } from "kit"; export default { render: () => sum([1]) };',
  );
  const large = await built(
    'import { heatmap } from "kit"; export default { render: () => heatmap({}) };',
  );
  assert.ok(!small.includes("heatmap"));
  assert.ok(large.includes("aria-roledescription"));
  const figure = await built(
    'import { begin, bars } from "kit"; export default { render: ({ el }) => begin(el, bars({})) };',
  );
  assert.ok(figure.includes(".d2lx-fill{"));
  assert.ok(!figure.includes(".d2lx-stage"));
  assert.ok(small.startsWith("// "));
});

test("what would end its comment in a page is refused", async () => {
  for (const text of ["-->", "--!>", "<!--"])
    await assert.rejects(built(`export default { render: () => "a${text}b" };`), /comment/);
});

test("an error of the source is told", async () => {
  await assert.rejects(built('import { sotfmax } from "kit"; export default sotfmax;'), /sotfmax/);
});

test("a rule stays while the script may name its class", () => {
  const style =
    ".d2lx-a,.d2lx-b{x:1}.d2lx-b{y:1}@media print{.d2lx-b{z:1}}.d2lx :is(p,.d2lx-b){w:1}";
  assert.equal(purged(style, 'h("i",{class:"d2lx-a"})'), ".d2lx-a{x:1}");
  assert.equal(purged(style, `\`d2lx-\${a}\``), style);
  assert.equal(purged(".d2lx-ab{x:1}.d2lx p{x:1}.d2lx td{x:1}", '"d2lx-abc"'), ".d2lx p{x:1}");
  assert.equal(purged(".d2lx td{x:1}", 'h("td")'), ".d2lx td{x:1}");
});
