import { type Clock, sleep } from '../../src/lib/clock.ts'
import { DeviumError, describeError } from '../../src/lib/errors.ts'
import { type RunCommand, wordsOf } from '../commands/commands.ts'
import type { Emit } from '../runner/events.ts'
import { statusText } from '../view/plainView.ts'
import type { Now } from './now.ts'
import type { Condition, Scenario, ScenarioSteps } from './scenario.ts'

export interface ScenarioModules {
  readNow: () => Promise<Now>
  runCommand: RunCommand
  emit: Emit
  clock: Clock
}

const POLL_MS = 300
/** Generous for a busy machine. A longer wait means that something hangs. */
const LIMIT_MS = 120_000

/** Runs a scenario on a ready testnet. Throws if a step fails. */
export async function runScenario(
  name: string,
  { about, steps }: Scenario,
  modules: ScenarioModules,
  signal: AbortSignal,
): Promise<void> {
  const { emit, clock } = modules
  const startMs = clock.now()
  emit({ event: 'scenario', name, about })
  let why: string | undefined
  try {
    await steps(stepsWith(modules, signal))
  } catch (error) {
    signal.throwIfAborted()
    why = describeError(error)
    throw error
  } finally {
    const seconds = secondsSince(startMs, clock)
    const failure = why ?? (signal.aborted ? describeError(signal.reason) : undefined)
    emit({ event: 'verdict', name, passed: failure === undefined, seconds, ...(failure && { why: failure }) })
  }
}

function stepsWith({ readNow, runCommand, emit, clock }: ScenarioModules, signal: AbortSignal): ScenarioSteps {
  /** Polls until the outcome is known. */
  const step = async (what: string, outcome: (now: Now, before: Now) => Promise<boolean>, limitMs: number) => {
    const startMs = clock.now()
    const before = await readNow()
    let now = before
    let lastError: unknown
    const end = (failure?: string) => {
      emit({ event: 'step', what, passed: failure === undefined, seconds: secondsSince(startMs, clock) })
      if (failure === undefined) return
      const nodes = now.status.nodes.map(statusText).join(' | ')
      const error = lastError === undefined ? '' : `; ${describeError(lastError)}`
      throw new DeviumError('scenario-failed', `"${what}" ${failure}${error}. Nodes: ${nodes}`)
    }
    for (;;) {
      try {
        if (await outcome(now, before)) return end()
        lastError = undefined
      } catch (error) {
        if (error instanceof NotSo) return end(error.message)
        lastError = error
      }
      if (clock.now() - startMs >= limitMs)
        return end(limitMs === 0 ? 'is not so' : `is not so after ${limitMs / 1000} s`)
      await sleep(clock, POLL_MS, signal)
      now = await readNow()
    }
  }
  return {
    async run(command) {
      signal.throwIfAborted()
      return (await runCommand(wordsOf(command))).did
    },
    waitFor: (what, condition, limitMs = LIMIT_MS) => step(what, async (...states) => condition(...states), limitMs),
    check: (what, condition) => step(what, async (...states) => condition(...states), 0),
    holds: (what, condition, until) => step(what, (...states) => stillHolds(condition, until, states), LIMIT_MS),
    now: readNow,
  }
}

class NotSo extends Error {}

async function stillHolds(condition: Condition, until: Condition, states: [now: Now, before: Now]): Promise<boolean> {
  if (!(await condition(...states))) throw new NotSo('does not hold')
  return until(...states)
}

function secondsSince(startMs: number, clock: Clock): number {
  return Math.round((clock.now() - startMs) / 100) / 10
}
