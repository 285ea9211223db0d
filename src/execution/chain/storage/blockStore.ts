import { keccak256 } from '../../../lib/hash.ts'
import { fromHex } from '../../../lib/hex.ts'
import type { ChainConfig } from '../../config/chainConfig.ts'
import type { Block } from '../../primitives/block.ts'
import type { StateChanges } from '../../state/stateKeys.ts'
import { type ExecutionReceipt, encodeStoredReceipts } from '../../tx/receiptCodec.ts'
import { BlockReader } from '../blockReader.ts'
import { encodeBody } from './bodyCodec.ts'
import type { ChainDatabase } from './chainDatabase.ts'
import { DatabaseBatch } from './databaseBatch.ts'
import { encodeHeader } from './headerCodec.ts'

export class BlockStore extends BlockReader {
  private readonly database: ChainDatabase

  constructor({ database }: { database: ChainDatabase }, config: ChainConfig) {
    super({ reads: database }, config)
    this.database = database
  }

  /** Writes an executed block in one atomic batch, see `writeSoon`. The block is not canonical yet. */
  async write(
    block: Block,
    receipts: readonly ExecutionReceipt[],
    state: Pick<StateChanges, 'codes'> & { nodes: readonly Uint8Array[] },
  ): Promise<void> {
    const { header, transactions } = block
    const batch = new DatabaseBatch()
    for (const node of state.nodes) batch.put('node', keccak256(node), node)
    for (const { hash, code } of state.codes) batch.put('code', hash, code)
    const hash = fromHex(header.hash)
    batch.putHeader(hash, encodeHeader(header))
    batch.put('body', hash, encodeBody(transactions))
    batch.put('receipts', hash, encodeStoredReceipts(receipts))
    await this.database.writeSoon(batch)
    this.keep(block)
  }
}
