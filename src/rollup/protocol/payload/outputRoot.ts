import { concatBytes } from '../../../lib/bytes.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'

export interface OutputRootParts {
  stateRoot: Hex
  /** Storage root of L2ToL1MessagePasser. */
  messagePasserStorageRoot: Hex
  blockHash: Hex
}

/** Version 0 output root (specs: proposals, "L2 output commitment construction"). */
export function computeOutputRoot(parts: OutputRootParts): Hex {
  return keccak256Hex(
    concatBytes(
      new Uint8Array(32),
      fromHex(parts.stateRoot, 32, 'state root'),
      fromHex(parts.messagePasserStorageRoot, 32, 'message passer storage root'),
      fromHex(parts.blockHash, 32, 'block hash'),
    ),
  )
}
