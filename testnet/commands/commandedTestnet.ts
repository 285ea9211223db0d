import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import type { DataAvailability } from '../chainParameters.ts'
import type { HostilePeers } from '../hostile/hostilePeers.ts'
import type { PeerBlocks } from '../links/peerBlocks.ts'
import type { PeerLinks } from '../links/peerLinks.ts'
import type { TransactionLoad } from '../load/transactionLoad.ts'
import type { Endpoints } from '../runner/events.ts'
import type { L1 } from '../runner/l1.ts'
import type { NodeClients } from '../runner/nodeClients.ts'
import type { RunningPrograms } from '../runner/runningPrograms.ts'
import type { Snapshots } from '../runner/snapshots.ts'

/** The parts of a testnet that commands change. */
export interface CommandedTestnet {
  programs: Pick<RunningPrograms, 'names' | 'isRunning' | 'isPaused' | 'end' | 'pause' | 'startAgain' | 'setClock'>
  endpoints: Pick<Endpoints, 'nodes' | 'batcher'>
  l1: Pick<L1, 'stopBlocks' | 'startBlocks' | 'reorg' | 'multiplyBaseFee' | 'setBlobs'>
  /** How the batch submitter posts. */
  readonly da: DataAvailability
  l1Heads(): Promise<{ head: number; finalized: number }>
  links: PeerLinks
  /** Blocks by RPC, for rollup nodes that peers can reach without their link. */
  blocks: Pick<PeerBlocks, 'set'>
  hostile: Pick<HostilePeers, 'start' | 'end'>
  load: Pick<TransactionLoad, 'start' | 'stop' | 'isRunning' | 'accepted' | 'refused'>
  /** Name of the sequencer. */
  readonly sequencer: string
  clients: Pick<NodeClients, 'note' | 'peersOf'>
  moveSequencer(name: string): Promise<void>
  /** Returns the name of the new node. */
  addNode(): Promise<string>
  removeNode(name: string): Promise<void>
  snapshots: Pick<Snapshots, 'checkNew' | 'take' | 'ageOf' | 'prepare'>
  /** Stops all programs, calls `action`, and starts them again. Returns the downtime in milliseconds. */
  whileStopped(action: () => void | Promise<void>, options?: { forgetsData: boolean }): Promise<number>
  /** Writes the network as files for containers. Returns their directory. */
  export(): Promise<string>
  /** Makes node `from` dial node `to` at this port. */
  connect(from: string, to: string, port: number): Promise<void>
}

export type CommandOutcome = Omit<CommandResult, 'command'>

/** Runs a command with its words. Throws UsageError if the words are wrong or the command cannot run now. */
export type Handler = (testnet: CommandedTestnet, words: readonly string[]) => Promise<CommandOutcome>
