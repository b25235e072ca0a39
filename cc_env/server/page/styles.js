// Style sheets of screens that are not the home page, loaded on first use.

const loading = {};

/** Load a style sheet; resolve when it applies, or cannot be loaded. */
export function loadStyle(name) {
  return (loading[name] ??= new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/static/${name}` });
    link.onload = link.onerror = resolve;
    document.head.append(link);
  }));
}
