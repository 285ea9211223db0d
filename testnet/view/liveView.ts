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
  /** Absent: nobody can press a key. */
  controls?: Controls
}

/** What keys do while the table is shown. */
export interface Controls {
  /** Tells of keys until the returned function is called. */
  listen: (onKey: (key: Key) => void) => () => void
  /** Starts what has ended again. */
  startAgain: () => void
  /** Follows a command that was typed. */
  run: (line: string) => Promise<CommandResult>
  /** What Ctrl-C does elsewhere. */
  interrupt: () => void
}

const NOTICE_MS = 10_000
/** What one key does comes within this time. */
const TOGETHER_MS = 500

/**
 * Lines while things start and stop, and in between a table on the terminal's alternate screen, redrawn in place: what
 * was in the terminal before is still there afterwards.
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

  /** Several at once stand side by side. */
  const note = (text: string) => {
    const nowMs = now()
    const before = notice !== undefined && nowMs < notice.untilMs - NOTICE_MS + TOGETHER_MS ? `${notice.text}, ` : ''
    notice = { text: before + text, untilMs: nowMs + NOTICE_MS }
  }

  /** Of what happens while the table is shown. Returns false for what it does not show. */
  const show = (event: TestnetEvent): boolean => {
    switch (event.event) {
      case 'status':
        status = event
        return true
      case 'ended': {
        const { program, how, log, lastLines } = event
        const others = ended.filter((other) => other.program !== program)
        ended = [...others, { program, how, log, lastLine: lastLines.at(-1) ?? '', atMs: now() }]
        return true
      }
      case 'started-again':
        ended = ended.filter(({ program }) => program !== event.program)
        note(`${event.program} was started again`)
        return true
      case 'warning':
        note(event.message)
        return true
      // Whoever gave it has an answer, and the rest of the table shows the effect.
      case 'command':
        note(event.did)
        return true
      // The title shows it.
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
