import { setFlagsFromString } from 'node:v8'

/** What heap and buffers may grow by after a full collection, in per cent of what was left. */
const GROW_PERCENT = 20

/**
 * Less garbage in a process that strangers send megabytes to, which are gone as soon as they are answered. V8 by itself
 * lets a small heap grow fourfold, and 64 MB of buffers lie beside it whatever its size. For programs, at their start; the
 * flags are those of V8 13 (Node 24), and another V8 is left to its own rules.
 *
 * The young generation is collected while the old one is being marked too. V8 by itself lets it grow until the marking is
 * done, past its limit, and then moves all of it in the one pause of the full collection, of 10 to 25 ms.
 *
 * `keepsPages`: whether V8 may keep what its heap took at most, once it has grown smaller, to have it at hand. Without, each
 * collection takes longer.
 */
export function limitGarbage({ keepsPages = true }: { keepsPages?: boolean } = {}): void {
  if (!process.versions.v8.startsWith('13.')) return
  if (!keepsPages) setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--no-separate-gc-phases')
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString(`--heap-growing-percent=${GROW_PERCENT}`)
}
