import { type Hex, toHex, toQuantity } from '../../../src/lib/hex.ts'

/** Methods of the Engine API by which a block is made. */
export interface EngineMethods {
  forkchoiceUpdated: string
  getPayload: string
  newPayload: string
}

const OSAKA: EngineMethods = {
  forkchoiceUpdated: 'engine_forkchoiceUpdatedV3',
  getPayload: 'engine_getPayloadV5',
  newPayload: 'engine_newPayloadV4',
}
const AMSTERDAM: EngineMethods = {
  forkchoiceUpdated: 'engine_forkchoiceUpdatedV4',
  getPayload: 'engine_getPayloadV6',
  newPayload: 'engine_newPayloadV5',
}

/** Nobody's. */
const FEE_RECIPIENT = toHex(new Uint8Array(20))

/** Time and slot of the block to be made. */
export interface BlockTime {
  /** Unix seconds. */
  timestamp: number
  slot: number
}

/** `amsterdamTime` undefined: never. */
export function isAmsterdam(timestamp: number, amsterdamTime: number | undefined): boolean {
  return amsterdamTime !== undefined && timestamp >= amsterdamTime
}

/** The methods that an engine takes for a block of this time; all others it refuses. */
export function engineMethods(timestamp: number, amsterdamTime: number | undefined): EngineMethods {
  return isAmsterdam(timestamp, amsterdamTime) ? AMSTERDAM : OSAKA
}

/** PayloadAttributesV3, or V4 (EIP-7843: with the slot's number) from Amsterdam on. */
export function payloadAttributes(
  { timestamp, slot }: BlockTime,
  amsterdamTime: number | undefined,
  random: { prevRandao: Hex; parentBeaconBlockRoot: Hex },
): Record<string, unknown> {
  return {
    timestamp: toQuantity(timestamp),
    ...random,
    suggestedFeeRecipient: FEE_RECIPIENT,
    withdrawals: [],
    ...(isAmsterdam(timestamp, amsterdamTime) ? { slotNumber: toQuantity(slot) } : {}),
  }
}
