import { readRlpHeader } from '../../../lib/rlp.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import { l1InfoSourceHashBytes } from '../transaction/sourceHash.ts'
import type { L1BlockInfo, RollupConfig, SystemConfig } from '../types.ts'
import { type L1InfoFormat, l1InfoDepositTx, l1InfoFormatAt, PACKED_SEQUENCE_NUMBER_OFFSET } from './l1Info.ts'

export type L1InfoEncoder = (
  systemConfig: SystemConfig,
  sequenceNumber: number,
  l1Block: L1BlockInfo,
  l2Time: number,
) => Uint8Array

interface Template {
  systemConfig: SystemConfig
  l1Hash: string
  format: L1InfoFormat
  encoded: Uint8Array
  sourceHashOffset: number
  sequenceNumberOffset: number
}

/**
 * Encodes L1-info deposits. Deposits of one epoch differ only in sequence number and source hash, so the encoder reuses
 * the previous encoding for the rest.
 */
export function createL1InfoEncoder(config: RollupConfig): L1InfoEncoder {
  let template: Template | undefined
  return (systemConfig, sequenceNumber, l1Block, l2Time) => {
    const format = l1InfoFormatAt(config, l2Time)
    const fits =
      template !== undefined &&
      template.l1Hash === l1Block.hash &&
      template.format === format &&
      saysTheSame(template.systemConfig, systemConfig)
    if (!fits || template === undefined) {
      const deposit = l1InfoDepositTx(config, systemConfig, sequenceNumber, l1Block, l2Time)
      const encoded = encodeDepositTx(deposit)
      // After the type byte, the list header and the header of the first string.
      const sourceHashOffset = readRlpHeader(encoded, 1).start + 1
      const sequenceNumberOffset = encoded.length - deposit.data.length + PACKED_SEQUENCE_NUMBER_OFFSET
      // Bedrock has a different layout, and its deposit changes with Regolith.
      template =
        format === 'bedrock'
          ? undefined
          : { systemConfig, l1Hash: l1Block.hash, format, encoded, sourceHashOffset, sequenceNumberOffset }
      return encoded
    }
    const encoded = template.encoded.slice()
    encoded.set(l1InfoSourceHashBytes(l1Block.hash, sequenceNumber), template.sourceHashOffset)
    const view = new DataView(encoded.buffer)
    view.setUint32(template.sequenceNumberOffset, Math.floor(sequenceNumber / 2 ** 32))
    view.setUint32(template.sequenceNumberOffset + 4, sequenceNumber % 2 ** 32)
    return encoded
  }
}

function saysTheSame(a: SystemConfig, b: SystemConfig): boolean {
  return (
    a.batcherAddress === b.batcherAddress &&
    a.scalar === b.scalar &&
    a.operatorFeeParams === b.operatorFeeParams &&
    a.daFootprintGasScalar === b.daFootprintGasScalar
  )
}
