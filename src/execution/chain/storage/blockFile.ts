import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../../lib/rlp.ts'
import type { PayloadEnvelope } from '../../../rollup/protocol/types.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { envelopeOfHeader } from '../headerPayload.ts'
import { decodeHeader } from './headerCodec.ts'

// Files of blocks in the format of geth's `export`: RLP lists, one after another.

/** Larger than any block. A longer list is rejected. */
const MAX_BLOCK_BYTES = 256 * 1024 * 1024

/**
 * Splits a stream into its RLP lists. Throws DecodeError with the position if another item follows, or if the stream
 * ends within a list.
 */
export async function* rlpLists(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pending: Uint8Array[] = []
  let held = 0
  let position = 0
  /** Length of the first pending list. Undefined until its header was read. */
  let wanted: number | undefined
  const joined = (): Uint8Array => {
    if (pending.length > 1) pending.splice(0, pending.length, Buffer.concat(pending))
    return pending[0] ?? EMPTY_BYTES
  }
  for await (const chunk of chunks) {
    pending.push(chunk)
    held += chunk.length
    while (held > 0) {
      wanted ??= listBytes(joined(), position)
      if (wanted === undefined || held < wanted) break
      yield joined().subarray(0, wanted)
      pending.splice(0, 1, joined().subarray(wanted))
      held -= wanted
      position += wanted
      wanted = undefined
    }
  }
  if (held > 0) throw new DecodeError(`blocks: the file ends within the block at byte ${position}`)
}

/** Length of the list at the start of `bytes`, with its header. Undefined if the header is incomplete. */
function listBytes(bytes: Uint8Array, position: number): number | undefined {
  const [first = 0] = bytes
  if (first < 0xc0)
    throw new DecodeError(`blocks: expected an RLP list at byte ${position}, got 0x${first.toString(16)}`)
  if (first <= 0xf7) return 1 + first - 0xc0
  const lengthBytes = first - 0xf7
  if (bytes.length < 1 + lengthBytes) return undefined
  let length = 0
  for (const byte of bytes.subarray(1, 1 + lengthBytes)) length = length * 256 + byte
  if (length > MAX_BLOCK_BYTES)
    throw new DecodeError(
      `blocks: the list at byte ${position} has ${length} bytes, a block has at most ${MAX_BLOCK_BYTES}`,
    )
  return 1 + lengthBytes + length
}

/** Header and raw transactions of a block's RLP. Throws DecodeError. */
export function partsOfBlock(encoding: Uint8Array): { header: BlockHeader; transactions: Uint8Array[] } {
  const fields = rlpList(decodeRlp(encoding), 'block')
  if (fields.length !== 3 && fields.length !== 4)
    throw new DecodeError(`block: ${fields.length} parts, expected 3 or 4`)
  const [headerItem, transactions, uncles, withdrawals] = fields
  if (rlpList(uncles, 'block uncles').length > 0) throw new DecodeError('block: has uncles')
  if (withdrawals !== undefined && rlpList(withdrawals, 'block withdrawals').length > 0) {
    throw new DecodeError('block: has withdrawals')
  }
  const header = decodeHeader(encodeRlp(rlpList(headerItem, 'block header')))
  if ((withdrawals === undefined) !== (header.withdrawalsRoot === undefined)) {
    throw new DecodeError(
      `block: ${withdrawals === undefined ? 'lacks' : 'has'} a list of withdrawals, unlike its header`,
    )
  }
  // Legacy transactions are lists, others are byte strings.
  const raw = rlpList(transactions, 'block transactions').map((item) =>
    item instanceof Uint8Array ? item : encodeRlp(item),
  )
  return { header, transactions: raw }
}

/** The payload of a block's RLP. Throws DecodeError. */
export function envelopeOfBlock(encoding: Uint8Array): PayloadEnvelope {
  const { header, transactions } = partsOfBlock(encoding)
  return envelopeOfHeader(header, transactions)
}
