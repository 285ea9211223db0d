import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import {
  applySystemConfigUpdates,
  checkForksKnown,
  depositsFromReceipts,
  encodeDepositTx,
  isForkActive,
  l1InfoDepositTx,
  SEQUENCER_FEE_VAULT_ADDRESS,
  upgradeDeposits,
  upgradeGas,
} from '../protocol/index.ts'
import {
  type BlockId,
  type L1BlockInfo,
  type L2BlockRef,
  type PayloadAttributes,
  type RollupConfig,
  type SystemConfig,
  ZERO_HASH,
} from '../protocol/types.ts'
import { DerivationError } from './errors.ts'
import type { AttributesBuilder, L1Source, L2Source } from './types.ts'

export interface AttributesBuilderModules {
  l1: Pick<L1Source, 'blockInfoByHash' | 'receipts'>
  l2: Pick<L2Source, 'systemConfigByL2Hash'>
}

const ZERO_EIP1559_PARAMS: Hex = '0x0000000000000000'

/**
 * The attributes that L1 and the chain's rules determine without a batch. Derivation and sequencer share this builder.
 */
export function createAttributesBuilder({ l1, l2 }: AttributesBuilderModules, config: RollupConfig): AttributesBuilder {
  return {
    async prepare(parent, epoch) {
      const timestamp = parent.timestamp + config.blockTime
      checkForksKnown(config, timestamp)
      const parentConfig = await l2.systemConfigByL2Hash(parent.hash)
      const { info, userDeposits, systemConfig, sequenceNumber } =
        parent.l1Origin.number === epoch.number
          ? await sameEpoch(l1, parent, epoch, parentConfig)
          : await newEpoch(l1, config, parent, epoch, parentConfig)

      if (timestamp < info.timestamp) {
        throw mismatch(
          `L2 timestamp ${timestamp} is before the timestamp of L1 origin ${info.number}, ${info.timestamp}`,
        )
      }
      const l1Info = l1InfoDepositTx(config, systemConfig, sequenceNumber, info, timestamp)
      const upgrades = upgradeDeposits(config, timestamp).map(encodeDepositTx)
      const attributes: PayloadAttributes = {
        timestamp,
        prevRandao: info.mixHash,
        suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
        transactions: [encodeDepositTx(l1Info), ...userDeposits, ...upgrades],
        noTxPool: true,
        gasLimit: systemConfig.gasLimit + upgradeGas(config, timestamp),
      }
      addForkMembers(attributes, config, info, systemConfig)
      return attributes
    },
  }
}

interface EpochPart {
  info: L1BlockInfo
  userDeposits: Uint8Array[]
  systemConfig: SystemConfig
  sequenceNumber: number
}

/** Deposits and SystemConfig updates of an L1 block take effect in the first L2 block of its epoch. */
async function newEpoch(
  l1: AttributesBuilderModules['l1'],
  config: RollupConfig,
  parent: L2BlockRef,
  epoch: BlockId,
  parentConfig: SystemConfig,
): Promise<EpochPart> {
  const { info, receipts } = await l1.receipts(epoch.hash).catch((cause: unknown) => {
    throw cause instanceof DeviumError && cause.code === 'l1-not-found' ? originReorged(epoch, cause) : cause
  })
  if (info.parentHash !== parent.l1Origin.hash) {
    throw mismatch(
      `L1 origin ${epoch.number} (${epoch.hash}) has parent ${info.parentHash}, the L2 parent's origin is ${parent.l1Origin.hash}`,
    )
  }
  const deposits = depositsFromReceipts(receipts, config.depositContractAddress, epoch.hash)
  return {
    info,
    userDeposits: deposits.map(encodeDepositTx),
    systemConfig: applySystemConfigUpdates(parentConfig, receipts, config, info.timestamp),
    sequenceNumber: 0,
  }
}

async function sameEpoch(
  l1: AttributesBuilderModules['l1'],
  parent: L2BlockRef,
  epoch: BlockId,
  systemConfig: SystemConfig,
): Promise<EpochPart> {
  if (parent.l1Origin.hash !== epoch.hash) {
    throw mismatch(`L1 origin ${epoch.number} is ${epoch.hash}, the L2 parent has ${parent.l1Origin.hash}`)
  }
  const info = await l1.blockInfoByHash(epoch.hash)
  if (info === undefined) throw originReorged(epoch)
  return { info, userDeposits: [], systemConfig, sequenceNumber: parent.sequenceNumber + 1 }
}

/** specs: exec-engine, "Extended PayloadAttributes", and the holocene and jovian pages with the same title. */
function addForkMembers(
  attributes: PayloadAttributes,
  config: RollupConfig,
  info: L1BlockInfo,
  systemConfig: SystemConfig,
): void {
  const { timestamp } = attributes
  if (isForkActive(config, 'canyon', timestamp)) attributes.withdrawals = []
  if (isForkActive(config, 'ecotone', timestamp)) {
    attributes.parentBeaconBlockRoot = info.parentBeaconBlockRoot ?? ZERO_HASH
  }
  if (isForkActive(config, 'holocene', timestamp)) {
    attributes.eip1559Params = systemConfig.eip1559Params ?? ZERO_EIP1559_PARAMS
  }
  if (isForkActive(config, 'jovian', timestamp)) attributes.minBaseFee = systemConfig.minBaseFee ?? 0n
}

function originReorged({ number, hash }: BlockId, cause?: unknown): DerivationError {
  return new DerivationError('l1-reorg', 'reset', `L1 origin ${number} (${hash}) was removed by a reorg`, { cause })
}

function mismatch(message: string): DerivationError {
  return new DerivationError('pipeline-mismatch', 'reset', message)
}
