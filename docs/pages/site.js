// What the theme leaves out for readers who use a keyboard or a screen reader. It loads nothing, and pages read well without.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  // A table that is wider than a phone scrolls: with the arrow keys, too, once it has the focus.
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach((each) => (each.tabIndex = 0))
  // Two lists of links may not have one name: the navigation and a page's own table of contents share words.
  const names = new Set()
  document.querySelectorAll("nav").forEach((nav) => {
    const label = document.getElementById(nav.getAttribute("aria-labelledby"))
    let name = (nav.getAttribute("aria-label") ?? label?.innerText ?? "Pages").trim()
    while (names.has(name)) name = `${name}, more`
    names.add(name)
    nav.removeAttribute("aria-labelledby")
    nav.setAttribute("aria-label", name)
  })
})
