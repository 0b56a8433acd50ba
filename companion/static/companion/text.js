/** Puts plain text into the page as paragraphs: never as markup, and without touching what is already right. */

/** The paragraphs of a text: parted by blank lines, blanks at either end left out. */
export function paragraphs(text) {
  const plain = text.replace(/\r\n?/g, "\n").trim();
  return plain ? plain.split(/\n[^\S\n]*\n\s*/) : [];
}

/** Make `box` hold exactly the paragraphs of `text`, changing only what differs. */
export function fill(box, text) {
  const wanted = paragraphs(text);
  while (box.childElementCount > wanted.length) box.lastElementChild.remove();
  wanted.forEach((paragraph, index) => {
    const node = box.children[index] ?? box.appendChild(emptyParagraph());
    grow(node, paragraph);
  });
}

function emptyParagraph() {
  const node = document.createElement("p");
  // Each paragraph runs in the direction of its own first letters.
  node.dir = "auto";
  node.append(document.createTextNode(""));
  return node;
}

function grow(node, text) {
  const words = node.firstChild;
  if (words.data === text) return;
  // Adding to a text keeps what a reader has selected in it; replacing it does not.
  if (text.startsWith(words.data)) words.appendData(text.slice(words.length));
  else words.data = text;
}
