import { type Clock, sleep } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { type RollupConfig, ZERO_ADDRESS } from '../protocol/types.ts'

export interface RuntimeConfigL1 {
  blockInfoByLabel(label: 'latest'): Promise<{ number: number; hash: Hex } | undefined>
  blockInfoByNumber(number: number): Promise<{ hash: Hex } | undefined>
  /** Proven by the block's state root, unless L1 is trusted. */
  storageAt(address: Hex, slot: Hex, blockHash: Hex): Promise<Hex>
}

/** keccak256("systemconfig.unsafeblocksigner") (specs: system-config, "UnsafeBlockSigner"). */
export const UNSAFE_BLOCK_SIGNER_SLOT: Hex = '0x65a7ed542fb37fe237fdfbdd70b31598523fe5b32879e307bae27a0bd9581c08'

/** Settings on L1 that are needed before derivation reaches them: the signer of gossiped blocks. */
export class RuntimeConfig {
  private readonly l1: RuntimeConfigL1
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly config: RollupConfig
  private readonly confirmations: number
  private signer: Hex | undefined

  /** `confirmations`: number of L1 blocks on top of the block that is read (`--verifier.l1-confs`). */
  constructor(
    modules: { l1: RuntimeConfigL1; clock: Clock; logger: Logger },
    config: RollupConfig,
    options: { confirmations: number },
  ) {
    this.l1 = modules.l1
    this.clock = modules.clock
    this.logger = modules.logger
    this.config = config
    this.confirmations = options.confirmations
  }

  /** The address whose signature makes a gossiped block valid; undefined before the first load, or if L1 names none. */
  unsafeBlockSigner(): Hex | undefined {
    return this.signer
  }

  async load(): Promise<void> {
    const block = await this.confirmedBlock()
    const word = await this.l1.storageAt(this.config.l1SystemConfigAddress, UNSAFE_BLOCK_SIGNER_SLOT, block)
    const address: Hex = `0x${word.slice(-40)}`
    const signer = address === ZERO_ADDRESS ? undefined : address
    if (signer === this.signer) return
    this.signer = signer
    this.logger.info('Loaded unsafe block signer from L1', { signer: signer ?? 'none' })
  }

  /**
   * Confirmations keep an L1 reorg from changing the signer. On a too young L1 the newest block is used, as in op-node.
   */
  private async confirmedBlock(): Promise<Hex> {
    const head = await this.l1.blockInfoByLabel('latest')
    const depth = head === undefined || head.number < this.confirmations ? 0 : this.confirmations
    const block = head === undefined || depth === 0 ? head : await this.l1.blockInfoByNumber(head.number - depth)
    if (block === undefined) {
      throw new DeviumError('runtime-config-block', 'L1 has no block at which to read the unsafe block signer')
    }
    return block.hash
  }

  /** Reloads until the signal aborts. An interval of 0 means never (op-node's `l1.runtime-config-reload-interval`). */
  async run(signal: AbortSignal, intervalMs: number): Promise<void> {
    if (intervalMs === 0) return
    try {
      for (;;) {
        await sleep(this.clock, intervalMs, signal)
        await this.load().catch((error) => this.logger.warn('Could not reload runtime config', { err: error }))
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
