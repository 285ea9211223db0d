import { z } from 'zod'

/** Hex text of this many bytes, with 0x. */
export const hexOf = (bytes: number) =>
  z.templateLiteral(['0x', z.string().regex(new RegExp(`[0-9a-f]{${2 * bytes}}`))])
export const hash = hexOf(32)
export const address = hexOf(20)

export const blockId = z.object({ hash, number: z.number() })
export const l1Ref = z.object({ hash, number: z.number(), parentHash: hash, timestamp: z.number() })
export const l2Ref = z.object({ ...l1Ref.shape, l1origin: blockId, sequenceNumber: z.number() })
