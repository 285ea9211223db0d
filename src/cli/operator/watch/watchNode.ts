import type { Clock } from '../../../lib/clock.ts'
import { describeError } from '../../../lib/errors.ts'
import { shortPeer } from '../../../lib/shortIds.ts'
import { WakeUp } from '../../../lib/wakeUp.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { plainText } from '../../shared/table.ts'
import { FullScreen, type Terminal } from '../../shared/terminal/fullScreen.ts'
import { type KeyboardInput, listenToKeys } from '../../shared/terminal/keyboard.ts'
import { explanationSchema } from '../p2p/explainView.ts'
import { PEER_ACTIONS } from '../p2p/peerActions.ts'
import { followNode } from './watchFeed.ts'
import { type Command, pressKey } from './watchKeys.ts'
import { extentOf, renderWatch } from './watchScreen.ts'
import { applyUpdate, INITIAL_STATE, type NodeUpdate, type WatchState } from './watchState.ts'

export interface WatchModules {
  node: NodeClient
  terminal: Terminal
  keyboard: KeyboardInput
  clock: Clock
  isColoured: boolean
}

/** Groups updates, which are frequent while a node syncs. */
const REDRAW_MS = 100
/** Redraws the ages of events. */
const TICK_MS = 1_000
const EXPLAIN_MS = 2_000

/** Shows the node on the whole terminal until `q` is pressed or the signal aborts. Then it restores the terminal. */
export async function watchNode(modules: WatchModules, signal: AbortSignal): Promise<void> {
  const { node, terminal, keyboard, clock, isColoured } = modules
  const quit = new AbortController()
  const ended = AbortSignal.any([signal, quit.signal])
  const screen = new FullScreen(terminal, { isColoured })
  const wakeUp = new WakeUp(clock)
  const shown = () => ({ url: plainText(node.url), nowMs: clock.now() })
  let state: WatchState = INITIAL_STATE
  let cancelDraw: (() => void) | undefined

  const draw = () => {
    cancelDraw?.()
    cancelDraw = clock.setTimeout(draw, TICK_MS)
    isDue = false
    screen.draw(renderWatch(state, screen.size, shown()))
  }
  let isDue = false
  const drawSoon = () => {
    if (isDue) return
    isDue = true
    cancelDraw?.()
    cancelDraw = clock.setTimeout(draw, REDRAW_MS)
  }
  const emit = (update: NodeUpdate) => {
    state = applyUpdate(state, update)
    drawSoon()
  }
  const refused = (error: unknown) => emit({ kind: 'done', text: describeError(error), isRefused: true })

  let cancelExplain = () => {}
  const explain = async (peerId: string): Promise<void> => {
    cancelExplain()
    if (ended.aborted || state.mode.kind !== 'explain' || state.mode.peerId !== peerId) return
    try {
      const [score, history] = await Promise.all([
        node.request('deviump2p_peerScore', [peerId], { signal: ended }),
        node.request('deviump2p_peerHistory', [peerId], { signal: ended }),
      ])
      emit({ kind: 'explained', peerId, answers: explanationSchema.parse({ score, history }) })
    } catch (error) {
      if (!ended.aborted && state.connection.state === 'open') refused(error)
    }
    cancelExplain()
    if (!ended.aborted) cancelExplain = clock.setTimeout(() => void explain(peerId), EXPLAIN_MS)
  }
  const change = async ({ kind, peerId }: Exclude<Command, { kind: 'quit' }>): Promise<void> => {
    try {
      const text = await PEER_ACTIONS.find(({ name }) => name === kind)?.run(node, peerId)
      if (text !== undefined) emit({ kind: 'done', text: text.replace(peerId, shortPeer(peerId)), isRefused: false })
    } catch (error) {
      if (!ended.aborted) refused(error)
    }
    wakeUp.wake()
    await explain(peerId)
  }

  screen.open(draw)
  let stopListening = () => {}
  try {
    stopListening = listenToKeys(
      keyboard,
      (key) => {
        const pressed = pressKey(state, key, extentOf(state, screen.size, shown()))
        state = pressed.state
        const { command } = pressed
        if (command?.kind === 'quit') quit.abort()
        else if (command?.kind === 'explain') void explain(command.peerId)
        else if (command !== undefined) void change(command)
        draw()
      },
      { clock },
    )
    draw()
    await followNode({ node, clock, emit, wakeUp }, ended)
  } finally {
    quit.abort()
    cancelDraw?.()
    cancelExplain()
    stopListening()
    screen.close()
  }
}
