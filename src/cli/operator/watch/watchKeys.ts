import type { Key } from '../../shared/terminal/keys.ts'
import { SORTINGS, sortPeers, type WatchState } from './watchState.ts'

/** The effect of a key outside the screen. */
export type Command =
  | { kind: 'quit' }
  | { kind: 'explain'; peerId: string }
  | { kind: 'block' | 'unblock'; peerId: string }

export interface KeyPress {
  state: WatchState
  command?: Command
}

/** Total and visible rows of the list, and of a peer's explanation, on the current screen. */
export interface Extent {
  pageRows: number
  explanationRows: number
}

const MOVES: Readonly<Record<string, (pageRows: number) => number>> = {
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  'page-up': (pageRows) => -pageRows,
  'page-down': (pageRows) => pageRows,
  ' ': (pageRows) => pageRows,
  home: () => Number.NEGATIVE_INFINITY,
  g: () => Number.NEGATIVE_INFINITY,
  end: () => Number.POSITIVE_INFINITY,
  G: () => Number.POSITIVE_INFINITY,
}

/** The state after a key, and the resulting command. */
export function pressKey(state: WatchState, key: Key, extent: Extent): KeyPress {
  if (key === 'interrupt') return { state, command: { kind: 'quit' } }
  if (state.confirming !== undefined) return answer(state, state.confirming, key)
  const quiet = { ...state, notice: undefined }
  const move = MOVES[key]?.(extent.pageRows)
  if (move !== undefined) return { state: moved(quiet, move, extent) }
  const peerId = state.mode.kind === 'explain' ? state.mode.peerId : state.selected
  switch (key) {
    case 'q':
      return { state, command: { kind: 'quit' } }
    case 'escape':
      return { state: { ...quiet, mode: { kind: 'list' } } }
    case 'enter':
    case 'e':
      if (state.mode.kind === 'explain') return { state: { ...quiet, mode: { kind: 'list' } } }
      if (peerId === undefined) return { state: quiet }
      return {
        state: { ...quiet, mode: { kind: 'explain', peerId, answers: undefined, top: 0 } },
        command: { kind: 'explain', peerId },
      }
    case 'b':
    case 'u':
      if (peerId === undefined) return { state: quiet }
      return { state: { ...quiet, confirming: { verb: key === 'b' ? 'block' : 'unblock', peerId } } }
    case 's': {
      const sorting = SORTINGS[(SORTINGS.indexOf(state.sorting) + 1) % SORTINGS.length] ?? 'score'
      return { state: { ...quiet, sorting, peers: sortPeers(state.peers, sorting) } }
    }
    default:
      return { state: quiet }
  }
}

/** Only `y` confirms. */
function answer(state: WatchState, { verb, peerId }: NonNullable<WatchState['confirming']>, key: Key): KeyPress {
  const next = { ...state, confirming: undefined }
  return key === 'y' || key === 'Y' ? { state: next, command: { kind: verb, peerId } } : { state: next }
}

function moved(state: WatchState, by: number, { pageRows, explanationRows }: Extent): WatchState {
  const { mode, peers, selected } = state
  if (mode.kind === 'explain') {
    const top = within(mode.top + by, explanationRows - pageRows)
    return { ...state, mode: { ...mode, top } }
  }
  const index = within(peers.findIndex(({ id }) => id === selected) + by, peers.length - 1)
  return { ...state, selected: peers[index]?.id }
}

function within(value: number, last: number): number {
  return Math.max(0, Math.min(value, last))
}
