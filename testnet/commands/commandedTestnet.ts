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
  /** Where the batch submitter posts. */
  readonly da: DataAvailability
  l1Heads(): Promise<{ head: number; finalized: number }>
  links: PeerLinks
  /** For rollup nodes that are reached round their links. */
  blocks: Pick<PeerBlocks, 'set'>
  hostile: Pick<HostilePeers, 'start' | 'end'>
  load: Pick<TransactionLoad, 'start' | 'stop' | 'isRunning' | 'accepted' | 'refused'>
  /** Name of the node that makes the blocks. */
  readonly sequencer: string
  clients: Pick<NodeClients, 'note'>
  moveSequencer(name: string): Promise<void>
  /** Returns its name. */
  addNode(): Promise<string>
  removeNode(name: string): Promise<void>
  snapshots: Pick<Snapshots, 'checkNew' | 'take' | 'ageOf' | 'prepare'>
  /** Ends all programs, calls `action`, and starts them again. Returns how many milliseconds they stood still. */
  whileStopped(action: () => void | Promise<void>, options?: { forgetsData: boolean }): Promise<number>
  /** Writes the network as files for containers. Returns their directory. */
  export(): Promise<string>
  /** Peer ids that a node is connected with. Rejects while it does not answer. */
  peersOf(node: string): Promise<string[]>
  /** Has a node dial another one at this port. */
  connect(from: string, to: string, port: number): Promise<void>
}

export type CommandOutcome = Omit<CommandResult, 'command'>
