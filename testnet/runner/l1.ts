import type { BlockId } from '../../src/rollup/protocol/index.ts'
import type { BlobMode } from '../l1/beaconService.ts'
import type { ChainMaker } from './chain.ts'

/** The L1 of a testnet, for every L1 program. */
export interface L1 {
  /** Starts a new chain that has only its genesis block. Resolves when its RPC answers. */
  create(maker: ChainMaker, signal: AbortSignal): Promise<void>
  /** Deploys the contracts in block 1. L1 then continues to build blocks. */
  deploy(maker: ChainMaker, signal: AbortSignal): Promise<BlockId>
  /** Resumes the kept chain. Resolves when its RPC answers. */
  resume(signal: AbortSignal): Promise<void>
  /** Stops building blocks while the RPC still answers; then starts again. */
  stopBlocks(): Promise<void>
  startBlocks(): Promise<void>
  /** Replaces the last blocks by empty ones. Throws UsageError if the program cannot reorg. */
  reorg(depth: number): Promise<void>
  /** Multiplies the base fee of the next block and returns it. Throws UsageError if the program cannot set it. */
  multiplyBaseFee(factor: number): Promise<bigint>
  /** Sets how the beacon API answers for blobs. */
  setBlobs(mode: BlobMode): void
  /** Its whole chain, as Anvil's packed JSON. Throws UsageError if the program has no such state. */
  packedState(): Promise<Uint8Array>
  /** Forks and blob fee parameters, in geth's form. */
  chainConfig(): Record<string, unknown>
  /** Stops block building in the runner's process. Never rejects. */
  close(): Promise<void>
}

/** Name of the L1 program and of its log. */
export const L1_PROGRAM = 'l1'
