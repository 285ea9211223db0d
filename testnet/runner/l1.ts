import type { BlockId } from '../../src/rollup/protocol/index.ts'
import type { BlobMode } from '../l1/beaconService.ts'
import type { ChainMaker } from './chain.ts'

/** The L1 of a testnet, whichever program it is. */
export interface L1 {
  /** Starts a new chain, which has its genesis block only. Resolves when its RPC answers. */
  create(maker: ChainMaker, signal: AbortSignal): Promise<void>
  /** Puts the contracts into block 1; more blocks follow by themselves. */
  deploy(maker: ChainMaker, signal: AbortSignal): Promise<BlockId>
  /** Goes on with the kept chain. Resolves when its RPC answers. */
  resume(signal: AbortSignal): Promise<void>
  /** No more blocks, though it answers still; and blocks again. */
  stopBlocks(): Promise<void>
  startBlocks(): Promise<void>
  /** Puts other, empty blocks in the place of the last ones. Throws UsageError where the program cannot. */
  reorg(depth: number): Promise<void>
  /** Multiplies the base fee of the next block. Returns it. Throws UsageError where the program cannot. */
  multiplyBaseFee(factor: number): Promise<bigint>
  /** How the beacon API answers for blobs. */
  setBlobs(mode: BlobMode): void
  /** Its whole chain, as packed JSON of Anvil. Throws UsageError where the program has none. */
  packedState(): Promise<Uint8Array>
  /** Forks and blob fee parameters, in geth's form. */
  chainConfig(): Record<string, unknown>
  /** Ends what makes blocks beside the program. Never rejects. */
  close(): Promise<void>
}

/** The name of its program, by which its log is named too. */
export const L1_PROGRAM = 'l1'
