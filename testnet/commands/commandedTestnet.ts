import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import type { Endpoints } from '../runner/events.ts'
import type { RunningPrograms } from '../runner/runningPrograms.ts'

/** The parts of a testnet that commands change. */
export interface CommandedTestnet {
  programs: Pick<RunningPrograms, 'names' | 'isRunning' | 'isPaused' | 'end' | 'pause' | 'startAgain'>
  endpoints: Pick<Endpoints, 'nodes'>
}

export type CommandOutcome = Omit<CommandResult, 'command'>
