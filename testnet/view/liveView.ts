import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import { FullScreen, type Terminal } from '../../src/cli/shared/terminal/fullScreen.ts'
import type { Key } from '../../src/cli/shared/terminal/keys.ts'
import type { Endpoints, TestnetEvent } from '../runner/events.ts'
import type { TestnetStatus } from '../runner/status.ts'
import { CommandPrompt } from './commandPrompt.ts'
import { plainLines } from './plainView.ts'
import { type EndedProgram, renderScreen } from './screen.ts'
import type { View } from './view.ts'

export interface LiveViewModules {
  terminal: Terminal
  now: () => number
  isColoured: boolean
  /** Absent if there is no keyboard. */
  controls?: Controls
}

/** Actions of keys while the table is shown. */
export interface Controls {
  /** Reports keys until the returned function is called. */
  listen: (onKey: (key: Key) => void) => () => void
  /** Restarts programs that have ended. */
  startAgain: () => void
  run: (line: string) => Promise<CommandResult>
  /** The action of Ctrl-C outside the table. */
  interrupt: () => void
}

const NOTICE_MS = 10_000
/** Events of one key arrive within this time. */
const TOGETHER_MS = 500

/**
 * Prints lines while the testnet starts and stops. In between it draws a table on the terminal's alternate screen, so that the
 * terminal's earlier content is restored afterwards.
 */
export function createLiveView({ terminal, now, isColoured, controls }: LiveViewModules): View {
  const screen = new FullScreen(terminal, { isColoured })
  let endpoints: Endpoints | undefined
  let status: TestnetStatus = { nodes: [] }
  let ended: EndedProgram[] = []
  let notice: { text: string; untilMs: number } | undefined
  let readyAt = 0
  let stopListening = () => {}

  const draw = () => {
    if (endpoints === undefined) return
    const nowMs = now()
    const uptimeSeconds = Math.floor((nowMs - readyAt) / 1000)
    const shownNotice = notice !== undefined && nowMs < notice.untilMs ? notice.text : undefined
    screen.draw(
      renderScreen(
        { endpoints, status, ended, prompt: prompt?.state, notice: shownNotice, uptimeSeconds, nowMs },
        screen.size,
      ),
    )
  }

  const prompt = controls && new CommandPrompt({ run: controls.run, onChange: draw })

  const close = () => {
    stopListening()
    stopListening = () => {}
    screen.close()
  }

  const print = (event: TestnetEvent) => {
    for (const line of plainLines(event)) terminal.write(`${line}\n`)
  }

  const onKey = (key: Key) => {
    if (prompt?.onKey(key)) return
    if (key === 'interrupt') controls?.interrupt()
    if (key === 'r') controls?.startAgain()
  }

  /** Notes of one key share a line. */
  const note = (text: string) => {
    const nowMs = now()
    const before = notice !== undefined && nowMs < notice.untilMs - NOTICE_MS + TOGETHER_MS ? `${notice.text}, ` : ''
    notice = { text: before + text, untilMs: nowMs + NOTICE_MS }
  }

  /** Handles an event while the table is shown. Returns false if the table does not show the event. */
  const show = (event: TestnetEvent): boolean => {
    switch (event.event) {
      case 'status':
        status = event
        return true
      case 'ended':
        ended = [...ended.filter(({ program }) => program !== event.program), { ...event, atMs: now() }]
        return true
      case 'started-again':
        ended = ended.filter(({ program }) => program !== event.program)
        note(`${event.program} was started again`)
        return true
      case 'warning':
        note(event.message)
        return true
      // The sender has the result, and the table shows the effect.
      case 'command':
        note(event.did)
        return true
      // The title shows the fork.
      case 'fork':
        return true
      default:
        return false
    }
  }

  return {
    statusIntervalMs: 500,
    handle(event) {
      if (event.event === 'status' || screen.isOpen) {
        if (show(event)) return draw()
      }
      if (event.event === 'stopping') close()
      print(event)
      if (event.event !== 'ready') return
      endpoints = event
      readyAt = now()
      screen.open(draw)
      if (controls !== undefined) stopListening = controls.listen(onKey)
      draw()
    },
    close,
  }
}
