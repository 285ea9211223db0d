import { byId } from './dom.ts'

const KEY = 'devium-theme'
const listeners = new Set<() => void>()

/** Calls the listener when colours change, so that canvases are redrawn. */
export function onTheme(listener: () => void): void {
  listeners.add(listener)
}

/** A colour of the style sheet. */
export function colour(name: string): string {
  const probe = byId('colour-probe')
  probe.style.color = `var(--${name})`
  return getComputedStyle(probe).color
}

/** Uses the system's theme until the reader chooses one. */
export function startTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const button = byId('theme')
  const apply = (): void => {
    const chosen = localStorage.getItem(KEY)
    const isDark = chosen === null ? system.matches : chosen === 'dark'
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
    button.setAttribute('aria-label', isDark ? 'Use light colours' : 'Use dark colours')
    button.title = isDark ? 'Use light colours' : 'Use dark colours'
    for (const listener of listeners) listener()
  }
  button.addEventListener('click', () => {
    localStorage.setItem(KEY, document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark')
    apply()
  })
  system.addEventListener('change', apply)
  apply()
}
