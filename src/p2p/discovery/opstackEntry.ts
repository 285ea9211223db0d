import { DecodeError, UsageError } from '../../lib/errors.ts'
import { ByteWriter } from '../../rollup/protocol/byteWriter.ts'

/** Key of the entry in a node record (op-node `p2p/discovery.go`). */
export const OPSTACK_KEY = 'opstack'
/** The only existing version. Records with another version are ignored. */
export const OPSTACK_VERSION = 0n

/** The chain that a node follows, as its record says: `uvarint(chain id) ‖ uvarint(version)`. */
export interface OpstackEntry {
  chainId: bigint
  version: bigint
}

/** Go's `binary.Uvarint`: 64 bits in at most ten groups of seven, lowest first. */
const MAX_UVARINT_BYTES = 10
const UINT64_LIMIT = 1n << 64n

/** The entry's content without its RLP header. Throws UsageError when the chain id exceeds 64 bits. */
export function encodeOpstackEntry(entry: OpstackEntry): Uint8Array {
  if (entry.chainId >= UINT64_LIMIT) {
    throw new UsageError(
      `discovery cannot announce chain id ${entry.chainId}, which is over 64 bits: use --p2p.no-discovery`,
    )
  }
  const writer = new ByteWriter(2 * MAX_UVARINT_BYTES)
  writer.uvarint(entry.chainId)
  writer.uvarint(entry.version)
  return writer.view()
}

/** Bytes after the version are ignored, as op-node does. Throws DecodeError. */
export function decodeOpstackEntry(content: Uint8Array): OpstackEntry {
  const chainId = readUvarint(content, 0)
  const version = readUvarint(content, chainId.end)
  return { chainId: chainId.value, version: version.value }
}

function readUvarint(bytes: Uint8Array, start: number): { value: bigint; end: number } {
  let value = 0n
  for (let i = 0; i < MAX_UVARINT_BYTES; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) throw new DecodeError('opstack entry ends within a number')
    value |= BigInt(byte & 0x7f) << BigInt(7 * i)
    if (byte < 0x80) {
      if (value >= UINT64_LIMIT) break
      return { value, end: start + i + 1 }
    }
  }
  throw new DecodeError('opstack entry holds a number over 64 bits')
}
