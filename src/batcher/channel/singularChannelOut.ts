import { encodeRlp } from '../../lib/rlp.ts'
import { encodeSingularBatch, maxRlpBytesPerChannel } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { type ChannelCompressor, createChannelCompressor } from './compress/channelCompressor.ts'

/** One singular batch for each block, compressed as a stream. Frames can be sent before the channel closes. */
export class SingularChannelOut implements ChannelOut {
  private readonly rollupConfig: RollupConfig
  private readonly compressor: ChannelCompressor
  inputBytes = 0

  constructor(config: ChannelConfig, rollupConfig: RollupConfig) {
    this.rollupConfig = rollupConfig
    this.compressor = createChannelCompressor(config)
  }

  get readyBytes(): number {
    return this.compressor.readyBytes
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    const encoded = encodeRlp(
      encodeSingularBatch({
        parentHash: block.parentHash,
        epochNumber: block.l1Origin.number,
        epochHash: block.l1Origin.hash,
        timestamp: block.timestamp,
        transactions: block.transactions,
      }),
    )
    // The L1 time at which derivation reads the channel is unknown. The batch's own time is never later.
    if (this.inputBytes + encoded.length > maxRlpBytesPerChannel(this.rollupConfig, block.timestamp))
      return { added: false, full: 'rlpLimit' }
    const added = await this.compressor.write(encoded)
    if (added) this.inputBytes += encoded.length
    return this.compressor.isFull ? { added, full: 'compressor' } : { added }
  }

  async close(): Promise<number> {
    await this.compressor.close()
    return 0
  }

  read(maxBytes: number): Uint8Array {
    return this.compressor.read(maxBytes)
  }

  destroy(): void {
    this.compressor.destroy()
  }
}
