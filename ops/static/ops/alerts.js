/** Updates the banner of open alerts. An alert that stays keeps its element, so that a click on it is not lost. */

export class Alerts {
  /** `place` holds the title; for operators also a list with a <template> of one alert. */
  constructor(place) {
    this.place = place;
    this.title = place.matches("[data-alerts-title]") ? place : place.querySelector("[data-alerts-title]");
    this.list = place.querySelector("[data-alerts-list]");
  }

  show({ title, open }) {
    this.place.hidden = !title;
    setText(this.title, title);
    if (!this.list) return;
    const stays = new Set(open.map((alert) => String(alert.id)));
    for (const item of this.list.querySelectorAll("li")) {
      if (!stays.has(item.dataset.alert)) item.remove();
    }
    // The newest comes first, so insert it last.
    for (const alert of [...open].reverse()) this.update(alert);
  }

  update(alert) {
    const item = this.list.querySelector(`li[data-alert="${alert.id}"]`) ?? this.create(alert.id);
    for (const place of item.querySelectorAll("[data-field]")) setText(place, alert[place.dataset.field]);
  }

  create(id) {
    const template = this.list.querySelector("template");
    const item = template.content.firstElementChild.cloneNode(true);
    const [said, form] = [item.querySelector("strong"), item.querySelector("form")];
    item.dataset.alert = id;
    said.id = `alert-${id}`;
    form.setAttribute("action", form.getAttribute("action").replace("/0/", `/${id}/`));
    form.querySelector("button").setAttribute("aria-describedby", said.id);
    template.after(item);
    return item;
  }
}

function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
