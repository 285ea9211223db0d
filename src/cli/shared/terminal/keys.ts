/** A key by its name, or the character that it types. */
export type Key =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'home'
  | 'end'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'interrupt'
  | (string & {})

// Sequences of VT220 terminals, xterm among them: ECMA-48's control sequences (CSI) and, in application mode, SS3.
const BY_SEQUENCE: Readonly<Record<string, Key>> = {
  '[A': 'up',
  '[B': 'down',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[7~': 'home',
  '[8~': 'end',
  OA: 'up',
  OB: 'down',
  OH: 'home',
  OF: 'end',
}
const SEQUENCE = /^(\[[0-9:;<=>?]*[ -/]*[@-~]|O[@-~])/
/** An incomplete sequence. */
const PARTIAL = /^(\[[0-9:;<=>?]*[ -/]*|O)?$/
const BY_CHARACTER: Readonly<Record<string, Key>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\x03': 'interrupt',
  '\b': 'backspace',
  '\x7f': 'backspace',
}

/**
 * Decodes the keys that a terminal in raw mode sends, and skips keys without a name. `rest` is an incomplete sequence: the
 * next input continues it. If no input follows soon, `\x1b` is the escape key.
 */
export function decodeKeys(input: string): { keys: Key[]; rest: string } {
  const keys: Key[] = []
  for (let text = input; text !== ''; ) {
    const [character = ''] = text
    const after = text.slice(character.length)
    if (character !== '\x1b') {
      const named = BY_CHARACTER[character]
      if (named !== undefined) keys.push(named)
      else if (!/\p{C}/u.test(character)) keys.push(character)
      text = after
      continue
    }
    const sequence = SEQUENCE.exec(after)?.[0]
    if (sequence !== undefined) {
      const named = BY_SEQUENCE[sequence]
      if (named !== undefined) keys.push(named)
      text = after.slice(sequence.length)
    } else if (PARTIAL.test(after)) {
      return { keys, rest: text }
    } else {
      keys.push('escape')
      text = after
    }
  }
  return { keys, rest: '' }
}
