import { type CommandResult, TESTNET_COMMANDS } from '../../src/cli/operator/testnet/commandTable.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { unknownName } from '../../src/lib/nearest.ts'
import type { Emit } from '../runner/events.ts'
import type { CommandedTestnet, Handler } from './commandedTestnet.ts'
import { sendHostile } from './hostileCommand.ts'
import { changeL1, reorg, setBlobs } from './l1Commands.ts'
import { changeLink, heal, partition } from './linkCommands.ts'
import { setLoad } from './loadCommand.ts'
import { addNode, moveSequencer, removeNode } from './nodeCommands.ts'
import { killProgram, pauseProgram, setClock, startProgram, stopProgram } from './programCommands.ts'
import { exportNetwork, restoreSnapshot, takeSnapshot } from './snapshotCommands.ts'

/** Runs one command line, already split. Throws UsageError if the words are wrong or the command cannot run now. */
export type RunCommand = (words: readonly string[]) => Promise<CommandResult>

const HANDLERS: Readonly<Record<string, Handler>> = {
  kill: killProgram,
  stop: stopProgram,
  pause: pauseProgram,
  start: startProgram,
  partition,
  link: changeLink,
  heal,
  reorg,
  l1: changeL1,
  blobs: setBlobs,
  clock: setClock,
  load: setLoad,
  hostile: sendHostile,
  sequencer: moveSequencer,
  'add-node': addNode,
  'remove-node': removeNode,
  snapshot: takeSnapshot,
  restore: restoreSnapshot,
  export: exportNetwork,
}

/** Runs commands one at a time, in the order of arrival, whatever their source. No command runs before the testnet is ready. */
export function createCommands(testnet: CommandedTestnet, emit: Emit, ready: Promise<void>): RunCommand {
  let last: Promise<unknown> = ready
  return (words) => {
    const run = async (): Promise<CommandResult> => {
      const { handler, given } = readCommand(words)
      const result = { command: words.join(' '), ...(await handler(testnet, given)) }
      emit({ event: 'command', ...result })
      testnet.clients.note(`Testnet: ${result.command}.`)
      return result
    }
    const running = last.then(run)
    last = running.catch(() => {})
    return running
  }
}

export function wordsOf(line: string): string[] {
  return line.split(/\s+/).filter((word) => word !== '')
}

function readCommand([name = '', ...given]: readonly string[]): { handler: Handler; given: string[] } {
  const spec = TESTNET_COMMANDS.find((known) => known.name === name)
  const handler = HANDLERS[name]
  if (spec === undefined || handler === undefined) {
    const names = TESTNET_COMMANDS.map((known) => known.name)
    throw new UsageError(unknownName('command', name, names))
  }
  const { count, words, description } = spec
  if (count.most === 0 && given.length > 0) throw new UsageError(`${name} takes no words, got "${given.join(' ')}"`)
  if (given.length < count.least || given.length > count.most) {
    throw new UsageError(`${name}: expected "${name} ${words}" (${description}), got "${[name, ...given].join(' ')}"`)
  }
  return { handler, given }
}
