import { fromHex, type Hex } from '../../lib/hex.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { Substate } from '../evm/interpreter/substate.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { BlockHeader } from '../primitives/block.ts'
import { CREATE2_DEPLOYER_ADDRESS, create2DeployerCode } from './create2Deployer.ts'

/** EIP-4788. */
const BEACON_ROOTS_ADDRESS: Hex = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
/** EIP-2935. */
const HISTORY_STORAGE_ADDRESS: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935'
const SYSTEM_ADDRESS: Hex = '0xfffffffffffffffffffffffffffffffffffffffe'
const SYSTEM_CALL_GAS = 30_000_000n

export interface BlockStart {
  parent: Pick<BlockHeader, 'hash' | 'timestamp'>
  parentBeaconBlockRoot?: Hex | undefined
}

/** Applies the changes before a block's first transaction. */
export async function beginBlock(env: Environment, config: ChainConfig, start: BlockStart): Promise<void> {
  const { rules, timestamp } = env.block
  // Specs, canyon/overview: only in the activation block, found by equal timestamps (as op-geth does).
  if (config.forks.canyon === timestamp) env.world.putCode(CREATE2_DEPLOYER_ADDRESS, create2DeployerCode())
  if (rules.ecotone && start.parentBeaconBlockRoot !== undefined) {
    await systemCall(env, BEACON_ROOTS_ADDRESS, fromHex(start.parentBeaconBlockRoot, 32, 'parentBeaconBlockRoot'))
  }
  if (rules.isthmus) await systemCall(env, HISTORY_STORAGE_ADDRESS, fromHex(start.parent.hash, 32, 'parentHash'))
  env.world.endTransaction()
}

/** Calls a system contract. Changes nothing if the contract is not deployed or fails. */
async function systemCall({ evm, world, block }: Environment, contract: Hex, data: Uint8Array): Promise<void> {
  if (world.code(contract).length === 0) return
  const from = SYSTEM_ADDRESS
  const message = { from, to: contract, value: 0n, data, gas: SYSTEM_CALL_GAS, gasPrice: 0n, nonce: 0n }
  await evm.run({ ...message, accessList: [], authorizations: [] }, block)
  evm.substate = new Substate()
}
