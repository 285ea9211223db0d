import type { Clock } from '../../../lib/clock.ts'
import { decodeKeys, type Key } from './keys.ts'

/** The used part of a terminal's input stream. */
export interface KeyboardInput {
  setRawMode(isRaw: boolean): unknown
  setEncoding(encoding: 'utf8'): unknown
  on(event: 'data', listener: (text: string) => void): unknown
  off(event: 'data', listener: (text: string) => void): unknown
  resume(): unknown
  pause(): unknown
}

/** An escape character alone is the escape key. The rest of a sequence may arrive this much later over a slow line. */
const ESCAPE_MS = 100

/**
 * Reports each pressed key without echo; Ctrl-C is `interrupt`. The returned function restores the terminal and may be
 * called more than once.
 */
export function listenToKeys(
  input: KeyboardInput,
  onKey: (key: Key) => void,
  { clock }: { clock: Pick<Clock, 'setTimeout'> },
): () => void {
  let rest = ''
  let cancelEscape = () => {}
  const onData = (text: string) => {
    cancelEscape()
    const decoded = decodeKeys(rest + text)
    rest = decoded.rest
    if (rest !== '') {
      cancelEscape = clock.setTimeout(() => {
        rest = ''
        onKey('escape')
      }, ESCAPE_MS)
    }
    for (const key of decoded.keys) onKey(key)
  }
  input.setEncoding('utf8')
  input.setRawMode(true)
  input.on('data', onData)
  input.resume()
  let isListening = true
  return () => {
    if (!isListening) return
    isListening = false
    cancelEscape()
    input.off('data', onData)
    input.setRawMode(false)
    input.pause()
  }
}
