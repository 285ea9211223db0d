/** What follows the key of a protobuf member (Protocol Buffers: "Message Structure"); groups are out of use. */
export const VARINT = 0
export const FIXED64 = 1
/** A length, and so many bytes. */
export const BYTES = 2
export const FIXED32 = 5
