// node build.js            builds every explorable of src/ into the Python package
// node build.js --check    fails when a committed bundle is not what would be built
// node build.js --watch    builds again at every change
// node build.js one.js --out=folder    builds one explorable that stands elsewhere
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, watch, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SOURCES = path.join(HERE, "src");
const BUNDLES = path.join(HERE, "..", "d2lattn", "book", "explorables", "bundles");

/**
 * One bundle, as text: a first line that says what it is built from, then a script that declares
 * d2lx with `live`, for anywidget, and `start`, for a page without a kernel. The style of a module
 * stands beside it under the same name; it enters when the module does.
 * @param {string} file
 */
export async function bundle(file) {
  const contents = `import explorable from ${JSON.stringify(path.resolve(file))};
    import * as host from ${JSON.stringify(path.join(SOURCES, "kit", "host.js"))};
    export const live = host.live(explorable);
    export const start = (kind, state) => host.start(explorable, kind, state);`;
  const build = (/** @type {string} */ style) =>
    esbuild.build({
      stdin: { contents, resolveDir: SOURCES, sourcefile: "<entry>" },
      absWorkingDir: SOURCES,
      alias: { kit: path.join(SOURCES, "kit", "index.js") },
      bundle: true,
      charset: "utf8",
      define: { STYLE: JSON.stringify(style) },
      format: "esm",
      legalComments: "none",
      logLevel: "silent",
      metafile: true,
      minify: true,
      outfile: "out.js",
      target: "es2022",
      write: false,
    });
  // Once to learn which modules are used, and again with their style.
  const [{ inputs }] = Object.values((await build("")).metafile.outputs);
  const used = Object.keys(inputs).filter((name) => inputs[name].bytesInOutput && name[0] !== "<");
  /** @type {string[]} */
  const styles = [];
  let style = "";
  for (const name of used) {
    const beside = name.replace(/\.js$/, ".css");
    const text = await readFile(path.resolve(SOURCES, beside), "utf8").catch(() => "");
    if (!text) continue;
    styles.push(beside);
    style += (await esbuild.transform(text, { loader: "css", minify: true })).code.trim();
  }
  const [script] = (await build("")).outputFiles;
  const needed = purged(style, script.text);
  // A colour that nobody asks for.
  const asked = needed + script.text;
  const colours = needed.replace(/(--d2lx-[\w-]+): ?[^;}]+;?/g, (whole, name) =>
    asked.includes(`var(${name})`) || asked.includes("var(--d2lx-${") ? whole : "",
  );
  const [output] = (await build(colours)).outputFiles;
  // Not an export: the same script runs where nobody imports it.
  const ends = /export\{([\w$]+) as live,([\w$]+) as start\};\s*$/;
  if (!ends.test(output.text))
    throw new Error(`${file}: esbuild ends it in another way than it did`);
  const text = output.text.replace(ends, "const d2lx={live:$1,start:$2};");
  // It stands in a page inside a comment.
  if (/-->|--!>|<!--|<\/script/i.test(text))
    throw new Error(`${file}: the bundle holds what ends or opens a comment or a script`);
  // What stands elsewhere is not ours to watch.
  const names = [...used, ...styles].filter((name) => !name.startsWith("..")).sort();
  return `// ${await digest(names)} ${names.join(" ")}\n${text}\n`;
}

/**
 * The style without rules of classes and of tables and the like that the script never names: the kit styles more than any one
 * figure uses. A name that is put together, `d2lx-${kind}`, may be any that begins so.
 * @param {string} style minified
 * @param {string} script
 */
export function purged(style, script) {
  const begun = [...script.matchAll(/(?<!-)(d2lx-[\w-]*)\$\{/g)].map(([, start]) => start);
  const used = (/** @type {string} */ selector) =>
    [...selector.matchAll(/ (t[dh]|table|fieldset|legend|canvas|summary)\b/g)].every(([, tag]) =>
      script.includes(`"${tag}"`),
    ) &&
    [...selector.matchAll(/\.(d2lx-[\w-]+)/g)].every(
      ([, name]) =>
        new RegExp(`${name}(?![\\w-])`).test(script) || begun.some((one) => name.startsWith(one)),
    );
  // Rules, and rules in a condition: @media (…) { … }.
  const rule = /([^{}]+)\{((?:[^{}]|\{[^{}]*\})*)\}/g;
  return style.replace(rule, (_, selectors, body) => {
    if (selectors[0] === "@") {
      const inner = purged(body, script);
      return inner && `${selectors}{${inner}}`;
    }
    // Commas in :is(…) part no selectors.
    const kept = selectors.split(/,(?![^(]*\))/).filter(used);
    return kept.length ? `${kept.join()}{${body}}` : "";
  });
}

/**
 * Of the sources, so that Python sees without Node whether they have changed.
 * @param {string[]} names
 */
async function digest(names) {
  const hash = createHash("sha256");
  for (const name of names) hash.update(await readFile(path.join(SOURCES, name)));
  return hash.digest("hex").slice(0, 16);
}

/** @param {string} folder */
const modules = async (folder) =>
  (await readdir(folder))
    .filter((name) => name.endsWith(".js"))
    .map((name) => path.join(folder, name));

/** @param {string[]} files @param {string} out */
async function build(files, out) {
  await mkdir(out, { recursive: true });
  for (const file of files) {
    const text = await bundle(file);
    await writeFile(path.join(out, path.basename(file)), text);
    console.log(`${path.basename(file)}: ${Buffer.byteLength(text)} bytes`);
  }
}

async function check() {
  const stale = [];
  const files = await modules(SOURCES);
  for (const file of files) {
    const committed = path.join(BUNDLES, path.basename(file));
    if ((await bundle(file)) !== (await readFile(committed, "utf8").catch(() => "")))
      stale.push(path.basename(file));
  }
  const names = files.map((file) => path.basename(file));
  stale.push(...(await readdir(BUNDLES)).filter((name) => !names.includes(name)));
  if (stale.length) {
    console.error(`stale in ${BUNDLES}: ${stale.join(", ")}; call: npm run build`);
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = process.argv.slice(2).filter((word) => word.startsWith("--"));
  const named = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  const out = options.find((word) => word.startsWith("--out="))?.slice(6) ?? BUNDLES;
  if (options.includes("--check")) await check();
  else {
    const all = async () => build(named.length ? named : await modules(SOURCES), out);
    await all();
    if (options.includes("--watch"))
      for await (const _ of watch(SOURCES, { recursive: true })) await all().catch(console.error);
  }
}
