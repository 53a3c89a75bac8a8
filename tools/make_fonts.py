"""Cut the book's fonts out of their npm packages, down to the letters and weights that pages use.

usage: python -m tools.make_fonts FOLDER      (needs fonttools and brotli)

FOLDER holds the four packages as `npm install --prefix FOLDER` lays them out:

    @fontsource-variable/literata  @fontsource-variable/source-sans-3
    @fontsource-variable/inconsolata  @fontsource/stix-two-math

Each is under the SIL Open Font License; its text is copied beside the files.
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path

from fontTools import merge, subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

ROOT = Path(__file__).resolve().parents[1]
FONTS = ROOT / "website" / "assets" / "fonts"
PLOTS = ROOT / "d2lattn" / "book" / "fonts"

LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100), 0x131, 0x152, 0x153, 0x2212, 0x20AC]
LATIN += [*range(0x2010, 0x2027), 0x202F, 0x2030, 0x2032, 0x2033, 0x2039, 0x203A, 0x2044]
GREEK = [*range(0x391, 0x3CA)]
# What formulas are made of, and the signs that the text fonts lack
SIGNS = "′″⁣ℓℝℕℤ𝔼←↑→↓↔⇒∂∇∈∉∏∑−∗∘√∝∞∣‖∧∨∩∪∫∼≈≠≤≥≪≫⊂⊕⊗⊙⊤⊥⋅⋮⋯"
SIGNS += "⟨⟩⌈⌉⌊⌋⅓⅔⁴⁸⁻…ℎϵϕ𝒩ℒ✓✗𝚷𝚺𝜶𝜷𝜸𝟎𝟏"
MATHS = [*range(0x20, 0x7F), 0xA0, *map(ord, "¬±²·½×ΔΠΣΩαβγδεητθλμνπρστφω")]
MATHS += [*map(ord, SIGNS), *range(0x1D400, 0x1D468), *map(ord, "𝛼𝛽𝛾𝛿𝜀𝜂𝜃𝜆𝜇𝜈𝜋𝜌𝜎𝜏𝜑𝜔")]

# our file, the package's file, letters, and the part of each axis that is kept
CUTS = {
    "serif": (
        "literata",
        "literata-latin-opsz-normal",
        LATIN,
        {"opsz": (12, 36), "wght": (400, 700)},
    ),
    "serif-italic": ("literata", "literata-latin-opsz-italic", LATIN, {"opsz": 14, "wght": 400}),
    "sans": ("source-sans-3", "source-sans-3-latin-wght-normal", LATIN, {"wght": (400, 700)}),
    "sans-greek": ("source-sans-3", "source-sans-3-greek-wght-normal", GREEK, {"wght": (400, 700)}),
    "mono": ("inconsolata", "inconsolata-latin-wght-normal", LATIN, {"wght": (400, 700)}),
    "math": ("stix-two-math", "stix-two-math-latin-400-normal", MATHS, {}),
}


def cut(source: Path, target: Path, letters: list[int], axes: dict) -> None:
    """Write the part of a font that holds these letters."""
    font = TTFont(source)
    if axes:
        part = BytesIO()
        instancer.instantiateVariableFont(font, axes).save(part)
        font = TTFont(part)
    options = subset.Options(flavor="woff2", hinting=False, desubroutinize=True)
    # Letters as high as the line and of equal width for tables; in formulas, small forms for
    # superscripts.
    options.layout_features = [
        "kern",
        "mark",
        "mkmk",
        "ccmp",
        "locl",
        "liga",
        "lnum",
        "tnum",
        "ssty",
    ]
    options.name_IDs = [0, 1, 2, 13, 14]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=letters)
    cutter.subset(font)
    if "MATH" in font:
        narrow_roots(font)
        tall_primes(font)
        level_subscripts(font)
    subset.save_font(font, target, options)
    print(f"{target.name:20} {target.stat().st_size / 1024:6.1f} KB")


def narrow_roots(font: TTFont) -> None:
    """Make tall root signs as narrow as the small one.

    Chromium gives every root the width of the widest sign there is, and a hole opens behind it.
    """
    outlines, widths, table = font["glyf"], font["hmtx"], font["MATH"].table.MathVariants
    root = font.getBestCmap()[ord("√")]
    sizes = table.VertGlyphConstruction[table.VertGlyphCoverage.glyphs.index(root)]
    sizes.GlyphAssembly = None
    for record in sizes.MathGlyphVariantRecord[1:]:
        name = record.VariantGlyph
        scale = widths[root][0] / widths[name][0]
        pen = TTGlyphPen(None)
        outlines[name].draw(TransformPen(pen, (scale, 0, 0, 1, 0, 0)), outlines)
        outlines[name] = pen.glyph()
        widths[name] = (widths[root][0], round(scale * widths[name][1]))


def tall_primes(font: TTFont) -> None:
    """Draw primes for the place where formulas have them, which is a superscript.

    The font draws them high and as small as they are in text; raised and made smaller once more,
    they are lost. What it has for superscripts (`ssty`) browsers do not ask for.
    """
    outlines, widths, letters = font["glyf"], font["hmtx"], font.getBestCmap()
    scale, bottom = 1.6, 40
    lowest = outlines[letters[ord("′")]].yMin
    for prime in "′″":
        name = letters[ord(prime)]
        pen = TTGlyphPen(None)
        move = (scale, 0, 0, scale, 0, bottom - scale * lowest)
        outlines[name].draw(TransformPen(pen, move), outlines)
        outlines[name] = pen.glyph()
        outlines[name].recalcBounds(outlines)
        widths[name] = (round(scale * widths[name][0]), outlines[name].xMin)


def level_subscripts(font: TTFont) -> None:
    """Let subscripts of single letters stand at one height, whether their letter has a tail or not.

    Browsers lower a subscript by as much as what it belongs to goes down, as is right for a tall
    bracket; so in q_j k_j one stood below the other, and the index of a sum lower still.
    """
    font["MATH"].table.MathConstants.SubscriptBaselineDropMin.Value = -40


def for_plots() -> None:
    """Write the sans once more as matplotlib reads it: upright, of one weight, with Greek.

    Its licence keeps the font's own name for the original.
    """
    parts = []
    for name in ("sans", "sans-greek"):
        font = instancer.instantiateVariableFont(TTFont(FONTS / f"{name}.woff2"), {"wght": 400})
        font.flavor = None
        for table in {"GSUB", "GPOS", "GDEF", "STAT"} & set(font.keys()):
            del font[table]
        parts.append(BytesIO())
        font.save(parts[-1])
    whole = merge.Merger().merge(parts)
    whole["name"].names = [one for one in whole["name"].names if one.nameID in {0, 1, 2, 13, 14}]
    whole["name"].setName("Book Sans", 1, 3, 1, 0x409)
    PLOTS.mkdir(parents=True, exist_ok=True)
    whole.save(PLOTS / "sans.ttf")
    shutil.copyfile(FONTS / "OFL-source-sans-3.txt", PLOTS / "OFL-source-sans-3.txt")


def main(folder: Path) -> None:
    """Write all files, and the licence of each package."""
    FONTS.mkdir(parents=True, exist_ok=True)
    for name, (package, file, letters, axes) in CUTS.items():
        (home,) = folder.glob(f"node_modules/@fontsource*/{package}")
        cut(home / "files" / f"{file}.woff2", FONTS / f"{name}.woff2", letters, axes)
        shutil.copyfile(home / "LICENSE", FONTS / f"OFL-{package}.txt")
    for_plots()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
