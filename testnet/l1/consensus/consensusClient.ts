import { randomBytes } from 'node:crypto'
import { type Clock, sleep } from '../../../src/lib/clock.ts'
import { DeviumError } from '../../../src/lib/errors.ts'
import { type Hex, toHex } from '../../../src/lib/hex.ts'
import type { Logger } from '../../../src/lib/logger.ts'
import { keepTrying } from '../keepTrying.ts'
import type { L1Block } from '../rpc.ts'
import type { BlobStore } from './blobStore.ts'
import type { BuiltBlock, L1Engine, Labels } from './engine.ts'
import { nextSlot, type SlotTimes, timeOfSlot } from './slots.ts'

export interface ConsensusModules {
  engine: L1Engine
  blobs: Pick<BlobStore, 'write'>
  clock: Clock
  logger: Logger
}

export interface ConsensusOptions extends SlotTimes {
  /** Distance in blocks from the head to the safe block, and from the safe to the finalized block. */
  slotsPerEpoch: number
}

/** Time that the execution client has to fill a block, if the slot is long enough. */
const BUILD_MS = 1_000
/** The same for the first block, which does not wait for a slot. */
const FIRST_BUILD_MS = 250
/** With the build time above, these attempts take a minute, enough for a busy machine. */
const FIRST_BLOCK_ATTEMPTS = 240
const RETRY_MS = 500
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Replaces a beacon node with one validator. It makes the execution client build a block in each slot, and moves the safe and
 * finalized blocks. It stores only blobs, and reads the head from the execution client.
 */
export class ConsensusClient {
  private readonly modules: ConsensusModules
  private readonly options: ConsensusOptions
  private isPaused = false
  private building: Promise<void> | undefined

  constructor(modules: ConsensusModules, options: ConsensusOptions) {
    this.modules = modules
    this.options = options
  }

  /** Builds block 1 in slot 1, with `transactionCount` transactions of the pool. Resolves when L1 has it. */
  async makeFirstBlock(transactionCount: number, signal: AbortSignal): Promise<BuiltBlock> {
    const { engine, clock } = this.modules
    const genesis = await engine.block(0, this.calls(signal))
    for (let attempt = 0; attempt < FIRST_BLOCK_ATTEMPTS; attempt++) {
      const block = await this.build(genesis, 1, () => sleep(clock, FIRST_BUILD_MS, signal), signal)
      if (block.transactionCount < transactionCount) continue
      await this.adopt(block, 1, signal)
      return block
    }
    throw new DeviumError('l1-deployment', `L1 does not put the ${transactionCount} transactions into its first block`)
  }

  /** Slots stay empty until `resume`. Resolves when a block that is being built is finished. */
  async pause(): Promise<void> {
    this.isPaused = true
    await this.building?.catch(() => {})
  }

  resume(): void {
    this.isPaused = false
  }

  /** Builds a block in each slot until the signal aborts. Never rejects: failures are logged once and retried. */
  run(signal: AbortSignal): Promise<void> {
    const messages = { failed: 'Could not make an L1 block, trying again', again: 'Making L1 blocks again' }
    const work = async () => {
      while (this.isPaused) await sleep(this.modules.clock, RETRY_MS, signal)
      await this.makeNextBlock(signal)
    }
    return keepTrying(work, messages, { ...this.modules, pauseMs: RETRY_MS }, signal)
  }

  private async makeNextBlock(signal: AbortSignal): Promise<void> {
    const { engine, clock } = this.modules
    const head = await engine.block('latest', this.calls(signal))
    const slot = nextSlot(this.options, head.timestamp, clock.now())
    const untilSlot = (leadMs: number) =>
      sleep(clock, Math.max(0, timeOfSlot(this.options, slot) * 1000 - leadMs - clock.now()), signal)
    await untilSlot(BUILD_MS)
    if (this.isPaused) return
    const make = async () => this.adopt(await this.build(head, slot, () => untilSlot(0), signal), slot, signal)
    this.building = make()
    await this.building
  }

  private async build(
    parent: L1Block,
    slot: number,
    whileItFills: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<BuiltBlock> {
    const { engine } = this.modules
    const calls = this.calls(signal)
    const time = { slot, timestamp: timeOfSlot(this.options, slot) }
    // Random values make each attempt a new payload. With equal attributes the engine would return the payload of the first
    // attempt.
    const random = { prevRandao: randomHash(), parentBeaconBlockRoot: randomHash() }
    const labels = { head: parent.hash, ...(await this.labelsBehind(parent.number, signal)) }
    const payloadId = await engine.startBlock(labels, time, random, calls)
    await whileItFills()
    return engine.finishBlock(payloadId, time, random.parentBeaconBlockRoot, calls)
  }

  /** Makes the block the head. Its blobs are stored first, so that a visible block always has its blobs. */
  private async adopt(block: BuiltBlock, slot: number, signal: AbortSignal): Promise<void> {
    const { engine, blobs, logger } = this.modules
    const calls = this.calls(signal)
    if (block.blobs.length > 0) await blobs.write(slot, block.blobs)
    await engine.importBlock(block, calls)
    await engine.setLabels({ head: block.hash, ...(await this.labelsBehind(block.number, signal)) }, calls)
    const { number, hash, transactionCount: transactions } = block
    logger.info('Made L1 block', { number, hash, slot, transactions, blobs: block.blobs.length })
  }

  /** Uses the genesis block if the chain is too short. */
  private async labelsBehind(headNumber: number, signal: AbortSignal): Promise<Omit<Labels, 'head'>> {
    const { slotsPerEpoch } = this.options
    const blockBehind = (distance: number) =>
      this.modules.engine.block(Math.max(0, headNumber - distance), this.calls(signal))
    const safe = await blockBehind(slotsPerEpoch)
    const finalized = await blockBehind(2 * slotsPerEpoch)
    return { safe: safe.hash, finalized: finalized.hash }
  }

  private calls(signal: AbortSignal) {
    return { signal, timeoutMs: REQUEST_TIMEOUT_MS }
  }
}

function randomHash(): Hex {
  return toHex(new Uint8Array(randomBytes(32)))
}
