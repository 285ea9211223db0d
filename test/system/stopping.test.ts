import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../support/processes.ts'
import { GETH_STATES } from '../support/stopping/gethStates.ts'
import { NODE_STATES } from '../support/stopping/nodeStates.ts'
import type { StopState } from '../support/stopping/states.ts'
import { OLD_NODE, type Reach } from '../support/stopping/stoppedProgram.ts'
import { SUBMITTER_STATES } from '../support/stopping/submitterStates.ts'
import { TOOL_STATES } from '../support/stopping/toolStates.ts'
import { World } from '../support/stopping/world.ts'

// In every state, SIGTERM ends a program soon, without a kill, and with all its processes.

const PROGRAMS: Record<string, readonly StopState[]> = {
  'devium--batcher': NODE_STATES,
  'devium-geth': GETH_STATES,
  'devium-batch-submitter': SUBMITTER_STATES,
  'a command': TOOL_STATES,
}
const REACHES: readonly Reach[] = ['the first process', 'every process']

function openWorld(preload?: string): World {
  const world = new World(preload)
  onTestFinished(() => world.close())
  return world
}

describe.each(Object.entries(PROGRAMS))('%s', (_, states) => {
  describe.each(states)('$state', ({ reach, ending, isMute = false }) => {
    it.each(REACHES)('ends when SIGTERM reaches %s', async (whom) => {
      const { program } = await reach(openWorld())
      const { code, signal, lines, started, left, heldPorts: held } = await program.stop(whom)
      expect({ code, signal, started, left, held }).toEqual({
        ...{ code: 0, signal: null, started: [], left: [], held: [] },
        ...ending,
      })
      if (isMute) return
      const [first, ...others] = afterSignal(lines)
      expect(first).toMatch(/"msg":"Stopping"/)
      expect(others.filter((line) => /"msg":"[^"]*(started|is up)"/.test(line))).toEqual([])
    })
  })
})

const LAUNCHED = [
  stateOf(NODE_STATES, 'deriving blobs'),
  stateOf(GETH_STATES, 'running a call'),
  stateOf(SUBMITTER_STATES, 'proving blobs'),
  stateOf(TOOL_STATES, 'devium status of a node that does not answer'),
]

describe.each(LAUNCHED)('a program of a launcher: $state', ({ reach, ending }) => {
  it.each(REACHES)('ends when SIGTERM reaches %s', async (whom) => {
    const { program } = await reach(openWorld(OLD_NODE))
    const { code, left, heldPorts: held } = await program.stop(whom)
    // The exit code that a shell reports for a signal.
    expect({ code, left, held }).toEqual({ code: ending?.signal === undefined ? 0 : 143, left: [], held: [] })
  })

  it('ends when its launcher is killed', async () => {
    const { program } = await reach(openWorld(OLD_NODE))
    const others = await program.killFirst()
    expect(others).not.toEqual([])
    await expect.poll(() => others.filter(isAlive)).toEqual([])
    expect(await program.heldPorts()).toEqual([])
  })
})

const WITH_PROCESSES = [
  stateOf(NODE_STATES, 'its process for KZG is loading'),
  stateOf(NODE_STATES, 'deriving blobs'),
  stateOf(GETH_STATES, 'its RPC process is loading'),
  stateOf(GETH_STATES, 'running a call'),
  stateOf(SUBMITTER_STATES, 'proving blobs'),
]

describe.each(WITH_PROCESSES)('a program that is killed: $state', ({ reach }) => {
  it('leaves no process behind', async () => {
    const { program } = await reach(openWorld())
    const others = await program.killFirst()
    expect(others).not.toEqual([])
    await expect.poll(() => others.filter(isAlive)).toEqual([])
  })
})

function stateOf(states: readonly StopState[], name: string): StopState {
  const found = states.find(({ state }) => state === name)
  if (found === undefined) throw new Error(`no state "${name}"`)
  return found
}

/** Lines written before the signal arrived do not count. */
function afterSignal(lines: readonly string[]): readonly string[] {
  return lines.slice(lines.findIndex((line) => !/"lvl":"(info|debug)"/.test(line) || /"msg":"Stopping/.test(line)))
}
