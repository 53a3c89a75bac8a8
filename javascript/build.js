// node build.js            builds the kit and every figure of the Python package
// node build.js --check    fails when a committed script is not what would be built
// node build.js --watch    builds again at every change
// node build.js one.js --out=folder    builds one figure that stands elsewhere
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, watch, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SOURCES = path.join(HERE, "..", "d2lattn", "book", "explorables");
const KIT = path.join(SOURCES, "kit");
const BUILT = path.join(SOURCES, "built");
const PALETTE = path.join(SOURCES, "..", "palette.json");

/** What the figures call the colours of the palette. @type {Record<string, string>} */
const COLOURS = {
  ...{ ink: "ink", muted: "soft", paper: "paper", line: "score", soft: "rule" },
  ...{ blue: "query", orange: "key", green: "value" },
};

/** The palette as a style sheet, light and dark. */
async function colours() {
  const palette = JSON.parse(await readFile(PALETTE, "utf8"));
  const inTheme = (/** @type {number} */ theme) =>
    Object.entries(COLOURS)
      .map(([name, of]) => `--d2lx-${name}:${palette[of][theme]};`)
      .join("");
  const dark = 'html[data-theme="dark"] .d2lx, body[data-jp-theme-light="false"] .d2lx';
  return `.d2lx { ${inTheme(0)} } @media screen { ${dark} { ${inTheme(1)} } }`;
}

// A figure does not contain the kit: it takes each part from the page's one `d2lx`.
const sharedKit = {
  name: "shared-kit",
  /** @param {esbuild.PluginBuild} build */
  setup(build) {
    build.onResolve({ filter: /^kit$|\/kit\// }, () => ({ path: "kit", namespace: "kit" }));
    build.onLoad({ filter: /./, namespace: "kit" }, () => ({ contents: "module.exports = d2lx;" }));
  },
};

/**
 * A classic script, as text, whose first line names its sources and their digest. It declares
 * `globalName` and puts the style sheets into the page once.
 * @param {{ contents: string, globalName: string, styles: string[], plugins?: esbuild.Plugin[] }} parts
 */
async function build({ contents, globalName, styles, plugins = [] }) {
  let style = "";
  for (const file of styles) {
    const text = file === PALETTE ? await colours() : await readFile(file, "utf8");
    style += (await esbuild.transform(text, { loader: "css", minify: true })).code.trim();
  }
  const { outputFiles, metafile } = await esbuild.build({
    stdin: { contents, resolveDir: SOURCES, sourcefile: "<entry>" },
    absWorkingDir: SOURCES,
    bundle: true,
    charset: "utf8",
    define: { STYLE: JSON.stringify(style) },
    format: "iife",
    globalName,
    legalComments: "none",
    logLevel: "silent",
    metafile: true,
    minify: true,
    outfile: "out.js",
    plugins,
    target: "es2022",
    write: false,
  });
  const names = Object.keys(metafile.inputs).filter((name) => !/^(<|kit:)/.test(name));
  names.push(...styles.map((file) => path.relative(SOURCES, file)));
  // What stands elsewhere is not ours to watch.
  const own = [...new Set(names)].filter((name) => !/^\.\.(?!\/palette)/.test(name)).sort();
  return `// ${await digest(own)} ${own.join(" ")}\n${outputFiles[0].text.trim()}\n`;
}

/** @param {string} folder @param {string} ending */
const filesIn = async (folder, ending) =>
  (await readdir(folder))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => path.join(folder, name));

/** The kit: declares `d2lx`, which starts the figures of a page. */
export async function buildKit() {
  const modules = await filesIn(KIT, ".js");
  const contents = `${modules.map((file) => `export * from ${JSON.stringify(file)};`).join("\n")}
    import { addStyle, startAll } from ${JSON.stringify(path.join(KIT, "host.js"))};
    export const figures = {};
    addStyle("kit", STYLE);
    startAll(figures);`;
  return build({
    contents,
    globalName: "d2lx",
    styles: [PALETTE, ...(await filesIn(KIT, ".css"))],
  });
}

/** A figure's folder names it. @param {string} file */
const nameOf = (file) =>
  path.basename(file) === "figure.js"
    ? path.basename(path.dirname(file))
    : path.basename(file, ".js");

/**
 * A figure: puts itself into `d2lx.figures`. Its style sheet stands beside it.
 * @param {string} file
 */
export async function buildFigure(file) {
  const source = path.resolve(file);
  const name = nameOf(source);
  const sheet = source.replace(/\.js$/, ".css");
  const styles = await readFile(sheet).then(
    () => [sheet],
    () => [],
  );
  const contents = `import figure from ${JSON.stringify(source)};
    ${styles.length ? `d2lx.addStyle(${JSON.stringify(name)}, STYLE);` : ""}
    d2lx.figures[${JSON.stringify(name)}] = figure;`;
  return build({ contents, globalName: "", styles, plugins: [sharedKit] });
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

/** @param {string[]} files */
async function scripts(files) {
  /** @type {Record<string, string>} */
  const texts = {};
  for (const file of files) texts[`${nameOf(path.resolve(file))}.js`] = await buildFigure(file);
  return texts;
}

async function all() {
  const names = await readdir(SOURCES, { recursive: true });
  const figures = names.filter((name) => path.basename(name) === "figure.js").sort();
  return {
    "kit.js": await buildKit(),
    ...(await scripts(figures.map((name) => path.join(SOURCES, name)))),
  };
}

/** @param {Record<string, string>} texts @param {string} out */
async function write(texts, out) {
  await mkdir(out, { recursive: true });
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(path.join(out, name), text);
    console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
  }
}

async function check() {
  const texts = await all();
  const stale = (await readdir(BUILT)).filter((name) => !(name in texts));
  for (const [name, text] of Object.entries(texts))
    if (text !== (await readFile(path.join(BUILT, name), "utf8").catch(() => ""))) stale.push(name);
  if (stale.length) {
    console.error(`stale in ${BUILT}: ${stale.join(", ")}; call: npm run build`);
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = process.argv.slice(2).filter((word) => word.startsWith("--"));
  const named = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  const out = options.find((word) => word.startsWith("--out="))?.slice(6) ?? BUILT;
  if (options.includes("--check")) await check();
  else if (named.length) await write(await scripts(named), out);
  else {
    await write(await all(), out);
    if (options.includes("--watch"))
      for await (const { filename } of watch(SOURCES, { recursive: true }))
        if (!filename?.startsWith("built"))
          await all().then((texts) => write(texts, out), console.error);
  }
}
