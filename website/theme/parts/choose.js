(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choose = () => {
    let kept;
    try {
      kept = localStorage.getItem("theme");
    } catch {} // storage may be forbidden
    root.dataset.theme =
      kept === "light" || kept === "dark" ? kept : system.matches ? "dark" : "light";
  };
  system.addEventListener("change", choose);
  choose();
})();
