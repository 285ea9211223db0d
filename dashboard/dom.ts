/** Creates the page's elements. Text becomes text nodes and attributes, never markup, because peers choose much of it. */

export type Child = Node | string | number | null | undefined | false

export interface Attributes {
  class?: string | undefined
  id?: string
  title?: string | undefined
  role?: string
  type?: string
  href?: string
  for?: string
  tabindex?: string
  [name: `aria-${string}` | `data-${string}`]: string | undefined
  /** Called at a click, and at Enter or Space if the element is a button. */
  onclick?: (event: MouseEvent) => void
}

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  const { onclick, ...rest } = attributes
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) element.setAttribute(name, String(value))
  if (onclick !== undefined) element.addEventListener('click', onclick as EventListener)
  element.append(...textOrNode(children))
  return element
}

export function svg(
  tag: keyof SVGElementTagNameMap,
  attributes: Record<string, string | number | undefined> = {},
  ...children: Child[]
): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value))
  }
  element.append(...textOrNode(children))
  return element
}

/** The element of index.html with this id. Throws if there is none. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found
}

/** Sets the text only if it changes, so that screen readers do not repeat unchanged text. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/**
 * Replaces the children if `key`, which stands for their data, has changed. A list that is rebuilt loses the focus and the
 * selection.
 */
export function replaceIfChanged(element: Element, key: string, make: () => Child[]): void {
  if (made.get(element) === key) return
  made.set(element, key)
  element.replaceChildren(...textOrNode(make()))
}

const made = new WeakMap<Element, string>()

/** One child of a list. The key identifies the child, and it is reused if nothing in it has changed. */
export interface Keyed {
  key: string
  make: () => Element
}

/**
 * Replaces the children of a list, and reuses and keeps in place as many as possible. A page that rebuilds a long list for each
 * block has thousands of elements waiting for garbage collection.
 */
export function replaceChildrenByKey(element: Element, wanted: readonly Keyed[]): void {
  const before = madeByKey.get(element) ?? new Map<string, Element>()
  const after = new Map<string, Element>()
  for (const { key, make } of wanted) after.set(key, before.get(key) ?? make())
  madeByKey.set(element, after)
  for (const [key, child] of before) if (!after.has(key)) child.remove()
  putInOrder(element, after.values())
}

const madeByKey = new WeakMap<Element, Map<string, Element>>()

/** Moves only children that are out of place, because a moved child loses the focus. */
export function putInOrder(element: Element, children: Iterable<Element>): void {
  let next = element.firstElementChild
  for (const child of children) {
    if (child === next) next = child.nextElementSibling
    else element.insertBefore(child, next)
  }
}

function textOrNode(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) =>
    child === null || child === undefined || child === false ? [] : [child instanceof Node ? child : String(child)],
  )
}
