import { formatDuration, parseDurationMs } from '../../src/lib/duration.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { listOf } from '../../src/lib/phrases.ts'
import type { NodeEndpoints } from '../runner/events.ts'
import { L1_PROGRAM } from '../runner/l1.ts'
import { BATCHER_PROGRAM, gethProgram, nodeProgram } from '../runner/programs.ts'
import type { CommandedTestnet, Handler } from './commandedTestnet.ts'
import { sequencerOf } from './nodeLookup.ts'

export const killProgram: Handler = async (testnet, [target = '']) => {
  const running = runningAt(testnet, target)
  await Promise.all(running.map((name) => testnet.programs.end(name, 'SIGKILL')))
  return { did: `${listOf(running)} killed.`, lookAt: effectOf(testnet, target) }
}

/** Stops the rollup node first, as documented. */
export const stopProgram: Handler = async (testnet, [target = '']) => {
  const running = runningAt(testnet, target)
  for (const name of running.toReversed()) {
    const isInterrupted = name === L1_PROGRAM || name.endsWith('-geth')
    await testnet.programs.end(name, isInterrupted ? 'SIGINT' : 'SIGTERM')
  }
  return { did: `${listOf(running)} stopped.`, lookAt: effectOf(testnet, target) }
}

export const pauseProgram: Handler = async (testnet, [target = '']) => {
  const { programs } = testnet
  const running = runningAt(testnet, target).filter((name) => !programs.isPaused(name))
  if (running.length === 0) throw new UsageError(`${target} is paused already`)
  for (const name of running) programs.pause(name)
  return { did: `${listOf(running)} paused.`, lookAt: effectOf(testnet, target) }
}

export const startProgram: Handler = async (testnet, [target = '']) => {
  const { programs } = testnet
  const idle = programsAt(testnet, target).filter((name) => !programs.isRunning(name) || programs.isPaused(name))
  if (idle.length === 0) throw new UsageError(`${target} runs already`)
  const paused = idle.filter((name) => programs.isPaused(name))
  const ended = idle.filter((name) => !paused.includes(name))
  for (const name of idle) programs.startAgain(name)
  const did = [
    ...(ended.length === 0 ? [] : [`${listOf(ended)} started again.`]),
    ...(paused.length === 0 ? [] : [`${listOf(paused)} continued.`]),
  ].join(' ')
  const { rollupRpc } = nodeAt(testnet, target) ?? sequencerOf(testnet)
  return { did, lookAt: `Heads catch up: npx devium status --rpc ${rollupRpc}` }
}

const MAX_CLOCK_MS = 365 * 24 * 3_600_000

/** `clock NODE +30s`, `clock NODE -30s`, `clock NODE 0`. */
export const setClock: Handler = async (testnet, [target = '', text = '']) => {
  const [, sign = '', amount = ''] = /^([+-]?)(.*)$/.exec(text) ?? []
  const ms = parseDurationMs(amount)
  if (ms > MAX_CLOCK_MS) throw new UsageError(`clock: expected a year at most, got "${text}"`)
  const running = runningAt(testnet, target)
  for (const name of running) testnet.programs.setClock(name, sign === '-' ? -ms : ms)
  const are = running.length === 1 ? 'is' : 'are'
  const side = sign === '-' ? 'behind' : 'ahead of'
  const { rollupRpc } = nodeAt(testnet, target) ?? sequencerOf(testnet)
  return {
    did:
      ms === 0
        ? `${listOf(running)} ${are} on time again.`
        : `${listOf(running)} ${are} ${formatDuration(ms)} ${side} the machine's clock.`,
    lookAt:
      ms === 0
        ? `Heads catch up: npx devium status --rpc ${rollupRpc}`
        : `Blocks look too old or too new: npx devium p2p health --rpc ${rollupRpc}`,
  }
}

/** Programs that a word names, each after the programs it needs. Throws UsageError if there are none. */
function programsAt({ programs, endpoints }: CommandedTestnet, target: string): string[] {
  const names = programs.names()
  if (names.includes(target)) return [target]
  const found = endpoints.nodes.flatMap(({ name }) => {
    const [geth, node] = [gethProgram(name), nodeProgram(name)]
    return { [name]: [geth, node], [`${name}/geth`]: [geth], [`${name}/node`]: [node] }[target] ?? []
  })
  if (found.length > 0) return found
  const nodes = endpoints.nodes.map(({ name }) => name).join(', ')
  throw new UsageError(
    `there is no program "${target}": expected NODE, NODE/geth or NODE/node of ${nodes}; or ${L1_PROGRAM}, or ${BATCHER_PROGRAM}`,
  )
}

function runningAt(testnet: CommandedTestnet, target: string): string[] {
  const running = programsAt(testnet, target).filter((name) => testnet.programs.isRunning(name))
  if (running.length === 0) throw new UsageError(`${target} does not run`)
  return running
}

function nodeAt({ endpoints }: CommandedTestnet, target: string): NodeEndpoints | undefined {
  return endpoints.nodes.find(({ name }) => target.split(/[/-]/)[0] === name)
}

/** Where the operator sees that the program has stopped. */
function effectOf(testnet: CommandedTestnet, target: string): string {
  const sequencer = sequencerOf(testnet)
  if (target === L1_PROGRAM) return `Safe heads wait for L1: npx devium derive status --rpc ${sequencer.rollupRpc}`
  if (target === BATCHER_PROGRAM) {
    return `Safe heads stand still, unsafe heads go on: npx devium status --rpc ${sequencer.rollupRpc}`
  }
  const node = nodeAt(testnet, target)
  if (node !== undefined && /[/-]geth$/.test(target)) {
    return `The rollup node waits for its execution client: npx devium derive status --rpc ${node.rollupRpc}`
  }
  const other = testnet.endpoints.nodes.find(({ name }) => name !== node?.name) ?? sequencer
  const effect = node === sequencer ? 'The other nodes get no blocks' : 'The other nodes lose a peer'
  return `${effect}: npx devium p2p peers --rpc ${other.rollupRpc}`
}
