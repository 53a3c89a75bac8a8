// What a page does beyond being read. Without this script all of it can still be read.

/** @param {string} selector */
const all = (selector) => [
  .../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector)),
];

/** @param {string} tag @param {object} properties @param {(Node | string)[]} children */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Light or dark: the choice is kept for all pages, where the browser keeps anything
document.querySelector(".tool.theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {}
});

// The drawer closes when it has led somewhere on this page
const contents = document.getElementById("contents");
contents?.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a");
  if (link && contents.matches(":popover-open")) contents.hidePopover();
});

// A browser saves a page as it stands: what this script adds is there already, and answers nobody
for (const old of all("form.guess, .said, .highlight > .copy")) old.remove();

// A prediction takes a guess, and shows it again beside the answer. It is kept in the page only.
for (const element of all("details.predict")) {
  const details = /** @type {HTMLDetailsElement} */ (element);
  const guess = /** @type {HTMLInputElement} */ (
    make("input", { type: "text", placeholder: "My guess", autocomplete: "off" })
  );
  guess.setAttribute("aria-label", "My guess");
  const form = make("form", { className: "guess" }, guess, make("button", { textContent: "See" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    details.open = true;
  });
  details.addEventListener("toggle", () => {
    const hadFocus = form.contains(document.activeElement);
    form.hidden = details.open;
    details.querySelector(".said")?.remove();
    if (!details.open) return;
    if (guess.value.trim()) {
      const said = make("p", { className: "said" }, "You said ");
      said.append(make("b", { textContent: guess.value.trim() }));
      details.querySelector(".answer")?.prepend(said);
    }
    if (hadFocus) details.querySelector("summary")?.focus();
  });
  details.after(form);
  form.hidden = details.open;
}

// Code can be copied, and what is wider than its box can be scrolled by keys
for (const code of all(".cell_input .highlight, div.highlight-bash .highlight")) {
  const text = code.querySelector("pre")?.textContent.trimEnd() ?? "";
  const copy = make("button", { className: "copy", type: "button", textContent: "Copy" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Could not copy";
    }
    setTimeout(() => {
      copy.textContent = "Copy";
    }, 1500);
  });
  code.append(copy);
}
const wide = new ResizeObserver((boxes) => {
  for (const { target } of boxes)
    if (target.scrollWidth > target.clientWidth + 1) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
});
for (const box of all(".scrolls, .highlight pre, .cell_output .output, div.math, div.math > math"))
  wide.observe(box);

// The contents say which section is being read: the one at a third of the screen's height, or the
// last before it
const places = new Map(
  all(".on-page a").map((link) => [/** @type {HTMLAnchorElement} */ (link).hash.slice(1), link]),
);
if (places.size) {
  const seen = new Set();
  const watch = new IntersectionObserver(
    (sections) => {
      for (const { target, isIntersecting } of sections)
        seen[isIntersecting ? "add" : "delete"](target.id);
      const last = [...places.keys()].findLast((id) => seen.has(id));
      for (const [id, link] of places) link.classList.toggle("here", id === last);
    },
    { rootMargin: "-80px 0px -66% 0px" },
  );
  for (const id of places.keys()) {
    const section = document.getElementById(id);
    if (section) watch.observe(section);
  }
}

// Ctrl-K opens the search, as in other books
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    all('.tools a[aria-label="Search"]')[0].click();
  }
});
