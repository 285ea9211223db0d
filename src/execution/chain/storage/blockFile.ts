import { DecodeError } from '../../../lib/errors.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../../lib/rlp.ts'
import type { PayloadEnvelope } from '../../../rollup/protocol/types.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { payloadOfHeader } from '../headerPayload.ts'
import { decodeHeader } from './headerCodec.ts'

// Files of blocks as geth's `export` writes them: one RLP list after another, nothing between them.

/** More than any block: what claims to be longer is no block. */
const MAX_BLOCK_BYTES = 256 * 1024 * 1024

/**
 * Cuts a stream into the RLP lists that it holds. Throws DecodeError where something else stands, or at an end in the midst
 * of one, naming the position.
 */
export async function* rlpLists(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = []
  let held = 0
  let position = 0
  /** Bytes that the list at the front takes; undefined while its header is not there. */
  let wanted: number | undefined
  for await (const chunk of chunks) {
    pending.push(chunk)
    held += chunk.length
    for (;;) {
      if (wanted === undefined || held < wanted) {
        if (wanted !== undefined || held === 0) break
        if (pending.length > 1) pending = [Buffer.concat(pending)]
        wanted = listBytes(pending[0] ?? chunk, position)
        if (wanted === undefined || held < wanted) break
      }
      const all = pending.length === 1 ? (pending[0] ?? chunk) : Buffer.concat(pending)
      yield all.subarray(0, wanted)
      pending = [all.subarray(wanted)]
      held -= wanted
      position += wanted
      wanted = undefined
    }
  }
  if (held > 0) throw new DecodeError(`blocks: the file ends within a block that begins at byte ${position}`)
}

/** Length of the list that begins here, with its header; undefined where not all of that is there. */
function listBytes(bytes: Uint8Array, position: number): number | undefined {
  const [first = 0] = bytes
  if (first < 0xc0) throw new DecodeError(`blocks: byte ${position} begins no RLP list (0x${first.toString(16)})`)
  if (first <= 0xf7) return 1 + first - 0xc0
  const lengthBytes = first - 0xf7
  if (bytes.length < 1 + lengthBytes) return undefined
  let length = 0
  for (const byte of bytes.subarray(1, 1 + lengthBytes)) length = length * 256 + byte
  if (length > MAX_BLOCK_BYTES) throw new DecodeError(`blocks: ${length} bytes at byte ${position} are no block`)
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
      `block: ${withdrawals === undefined ? 'lacks' : 'has'} a list of withdrawals against its header`,
    )
  }
  // Legacy transactions stand as lists, others as byte strings.
  const raw = rlpList(transactions, 'block transactions').map((item) =>
    item instanceof Uint8Array ? item : encodeRlp(item),
  )
  return { header, transactions: raw }
}

/** The payload that a block's RLP stands for. Throws DecodeError. */
export function envelopeOfBlock(encoding: Uint8Array): PayloadEnvelope {
  const { header, transactions } = partsOfBlock(encoding)
  const payload = payloadOfHeader(header, transactions)
  const { parentBeaconBlockRoot } = header
  return { payload, ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }) }
}
