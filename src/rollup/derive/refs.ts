import type { L1BlockInfo, L1BlockRef } from '../protocol/types.ts'

export function toL1Ref({ hash, number, parentHash, timestamp }: L1BlockInfo): L1BlockRef {
  return { hash, number, parentHash, timestamp }
}
