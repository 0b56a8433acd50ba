"""What the checks measure on an open page. Each script returns a list of faults, empty where there is none."""

from typing import Any

from playwright.async_api import Page

VISIBLE = """
  const isSeen = (node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })
    && !node.closest(".visually-hidden, .skip") && node.getBoundingClientRect().width > 1;
  const describe = (node) => `${node.localName}${node.id ? "#" + node.id : ""} ` +
    JSON.stringify((node.getAttribute("aria-label") || node.textContent || node.value || "").trim().slice(0, 60));
"""
WIDER = """() => {
  const root = document.documentElement;
  return root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} px in a window of ${root.clientWidth} px`] : [];
}"""
# Text that is wider or higher than its own box. A box that can be scrolled keeps it.
CUT_OFF = f"""() => {{{VISIBLE}
  const parts = "a, button, p, h1, h2, h3, h4, label, legend, summary, li, dt, dd, th, td, q, .text";
  const scrolls = (node) => {{
    for (let one = node; one; one = one.parentElement) {{
      if (/auto|scroll/.test(getComputedStyle(one).overflowX) && one !== document.documentElement) return true;
    }}
  }};
  return [...document.querySelectorAll(parts)].filter(isSeen).filter((node) => {{
    const style = getComputedStyle(node);
    const hides = /hidden|clip/.test(style.overflowY) && node.scrollHeight > node.clientHeight + 1;
    return style.display !== "inline" && node.clientWidth > 0
      && (node.scrollWidth > node.clientWidth + 1 || hides) && !scrolls(node);
  }}).map(describe);
}}"""
# A link in a sentence is as high as its line, and a tick is pressed by its label (2.5.5, exceptions).
TOO_SMALL = f"""() => {{{VISIBLE}
  const isInSentence = (node) => node.localName === "a" && getComputedStyle(node).display === "inline"
    && [...node.parentElement.childNodes].some((one) => one !== node && one.textContent.trim());
  const target = (node) => node.matches("input[type=checkbox], input[type=radio]")
    ? node.closest("label") ?? node.labels[0] ?? node : node;
  return [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
    .filter(isSeen).filter((node) => !isInSentence(node)).filter((node) => {{
      const box = target(node).getBoundingClientRect();
      return box.height < 43.9 || box.width < 43.9;
    }}).map((node) => {{
      const box = target(node).getBoundingClientRect();
      return `${{describe(node)}} is ${{Math.round(box.width)}} × ${{Math.round(box.height)}} px`;
    }});
}}"""
# Gives the focus to everything that takes it, in the order of the keyboard, as the Tab key scrolls to it.
UNSEEN_FOCUS = f"""() => {{{VISIBLE}
  const takers = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const faults = [];
  const before = document.activeElement;
  const place = scrollY;
  // What was pressed before has the focus without an outline.
  before?.blur();
  for (const node of document.querySelectorAll(takers)) {{
    if (node.disabled || !isSeen(node)) continue;
    node.focus({{ focusVisible: true }});
    if (document.activeElement !== node) continue;
    // A link may be pressed anywhere on its card, which has the outline then.
    const isOutlined = [node, node.closest("li")].some((one) => one &&
      getComputedStyle(one).outlineStyle !== "none" && parseFloat(getComputedStyle(one).outlineWidth) >= 2);
    if (!isOutlined) faults.push(`no outline: ${{describe(node)}}`);
    const box = node.getBoundingClientRect();
    const points = [0.1, 0.5, 0.9].flatMap((x) => [0.15, 0.5, 0.85].map((y) =>
      document.elementFromPoint(box.x + box.width * x, box.y + box.height * y)));
    const seen = points.filter((one) => one && (node.contains(one) || one.closest("label")?.control === node));
    if (!seen.length) faults.push(`out of sight: ${{describe(node)}}`);
  }}
  if (before && before !== document.body) before.focus({{ preventScroll: true }});
  else document.activeElement.blur();
  scrollTo(0, place);
  return faults;
}}"""
# What stays in sight while the page scrolls leaves half of a low window for what is read.
COVERED = """() => {
  const height = innerHeight;
  if (document.documentElement.scrollHeight <= height) return [];
  const taken = [...document.querySelectorAll("body *")]
    .filter((node) => /sticky|fixed/.test(getComputedStyle(node).position) && node.checkVisibility())
    .filter((node) => !node.parentElement.closest("[role=log], .scroll"))
    .reduce((sum, node) => sum + Math.min(node.getBoundingClientRect().height, height), 0);
  return taken > height / 2 ? [`${Math.round(taken)} of ${height} px stay covered`] : [];
}"""
WITHOUT_EDGE = f"""() => {{{VISIBLE}
  const ground = getComputedStyle(document.body).backgroundColor;
  const controls = "button, .way, input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea";
  return [...document.querySelectorAll(controls)].filter(isSeen).filter((node) => {{
    const style = getComputedStyle(node);
    return style.borderTopStyle === "none" || parseFloat(style.borderTopWidth) === 0 || style.borderTopColor === ground;
  }}).map(describe);
}}"""
MOVING = """() => document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 0)
  .map((one) => `${one.animationName ?? one.transitionProperty} of ${one.effect.target.className}`)"""
# What moves by itself beside other content ends within five seconds (2.2.2).
ENDLESS = """() => document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 0
    && one.effect.getComputedTiming().endTime > 5000)
  .map((one) => `${one.animationName ?? one.transitionProperty} of ${one.effect.target.className}`)"""
NAMES = """() => {
  const faults = [];
  if (!document.title.trim()) faults.push("the page has no title");
  if (!/^[a-z]{2}/.test(document.documentElement.lang)) faults.push("the page has no language");
  const seen = [...document.querySelectorAll("h1")].filter((node) => node.checkVisibility());
  if (seen.length !== 1) faults.push(`${seen.length} headings of the first level`);
  const viewport = document.querySelector("meta[name=viewport]")?.content ?? "";
  if (!viewport.includes("width=device-width")) faults.push("no viewport");
  if (/user-scalable\\s*=\\s*no|maximum-scale/.test(viewport)) faults.push("the page forbids zoom");
  return faults;
}"""
# A way to a person is first on every page of participants, and in the same place (3.2.6).
HELP_PLACE = """(width) => {
  const strip = document.querySelector(".strip");
  if (!strip) return ["no strip"];
  const heading = document.querySelector("h1");
  const faults = [];
  if (heading && !(strip.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_FOLLOWING)) {
    faults.push("the strip is not before the words of the page");
  }
  const box = strip.getBoundingClientRect();
  const wide = Math.min(document.documentElement.clientWidth, parseFloat(getComputedStyle(strip).maxWidth) || Infinity);
  if (Math.abs(box.top) > 1 || Math.abs(box.width - wide) > 1) {
    faults.push(`the strip is ${Math.round(box.width)} px wide at ${Math.round(box.top)} px from the top`);
  }
  if (!/person|persona|staff|equipo|personal/i.test(strip.textContent)) faults.push("the strip names no person");
  return faults;
}"""
# The names of what can be pressed. What a fold holds is behind the fold's button.
CONTROLS = f"""() => {{{VISIBLE}
  const folded = [...document.querySelectorAll("[aria-expanded=false][aria-controls]")].filter(isSeen)
    .flatMap((node) => node.getAttribute("aria-controls").split(" ")).map((id) => document.getElementById(id));
  // *Go to the newest* comes and goes with the scroll; on a low window the box itself stands there.
  return [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
    .filter((node) => !node.matches("[data-newest]"))
    .filter((node) => isSeen(node) || folded.some((one) => one?.contains(node))).map(describe).sort();
}}"""
SPACED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}"""
UNSPACED = "() => { document.adoptedStyleSheets = document.adoptedStyleSheets.slice(0, -1); }"


async def measure(page: Page, script: str, argument: Any = None) -> list[str]:
    """The faults that a script finds on the page as it is now."""
    faults: list[str] = await page.evaluate(script, argument)
    return faults
