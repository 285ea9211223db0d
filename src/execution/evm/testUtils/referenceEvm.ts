import { Common, type CustomCrypto, Hardfork, Mainnet } from '@ethereumjs/common'
import { type CustomPrecompile, EVM, EVMError, type EVMMockBlockchainInterface } from '@ethereumjs/evm'
import { Address, createAddressFromString } from '@ethereumjs/util'
import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { keccak256, sha256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { recoverPublicKey } from '../../../lib/secp256k1.ts'
import type { Rules } from '../../config/chainConfig.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { BlockContext, Message } from '../message.ts'
import { type Execution, OpEvm } from '../opEvm.ts'
import { callPrecompile } from '../precompiles/precompile.ts'
import { EvmState } from './evmState.ts'

function hardforkOf(rules: Rules): Hardfork {
  if (rules.isthmus) return Hardfork.Prague
  if (rules.ecotone) return Hardfork.Cancun
  return rules.canyon ? Hardfork.Shanghai : Hardfork.Paris
}

/** The part of Osaka in Karst that concerns the loop: CLZ. */
const KARST_EIPS = [7939]
/** ECRECOVER, SHA256, RIPEMD160 and IDENTITY are EthereumJS's own. */
const OWN_PRECOMPILES = 4

const CUSTOM_CRYPTO: CustomCrypto = {
  keccak256,
  sha256,
  ecrecover: (hash, v, r, s) => recoverPublicKey(hash, r, s, Number(v - 27n)),
}

/** Runs messages with EthereumJS on the same state and with the same form of outcome, for comparison with our EVM. */
export class ReferenceEvm extends OpEvm {
  private readonly state = new EvmState()
  private readonly evm: EthereumJs

  constructor(world: WorldState, chainId: bigint, rules: Rules) {
    super({ world, ancestorHash: () => undefined }, rules)
    this.state.bind(world)
    const common = new Common({
      chain: { ...Mainnet, chainId: chainId.toString() },
      hardfork: hardforkOf(rules),
      ...(rules.karst ? { eips: KARST_EIPS } : {}),
      customCrypto: CUSTOM_CRYPTO,
    })
    const blockchain: EVMMockBlockchainInterface = {
      getBlock: async () => ({ hash: () => EMPTY_BYTES }),
      putBlock: async () => {},
      shallowCopy: () => blockchain,
    }
    this.evm = new EthereumJs({
      common,
      stateManager: this.state,
      blockchain,
      customPrecompiles: [...this.precompiles].slice(OWN_PRECOMPILES).map(
        ([address, precompile]): CustomPrecompile => ({
          address: createAddressFromString(address),
          async function({ data, gasLimit }) {
            const result = await callPrecompile(precompile, data, Number(gasLimit), async () => {})
            if (result !== undefined) return { executionGasUsed: BigInt(result.gasUsed), returnValue: result.output }
            const exceptionError = new EVMError(EVMError.errorMessages.OUT_OF_GAS)
            return { executionGasUsed: gasLimit, returnValue: new Uint8Array(0), exceptionError }
          },
        }),
      ),
    })
  }

  override async run(message: Message & { nonce: bigint }, block: BlockContext): Promise<Execution> {
    const { evm, substate } = this
    evm.journal.cleanJournal()
    evm.transientStorage.clear()
    for (const address of substate.warmAddresses) evm.journal.addAlwaysWarmAddress(address)
    for (const [address, slots] of substate.warmSlots) {
      for (const slot of slots) evm.journal.addAlwaysWarmSlot(address, slot)
    }
    const caller = addressOf(message.from)
    const { execResult } = await evm.runCall({
      block: evmBlock(block),
      gasPrice: message.gasPrice,
      caller,
      origin: caller,
      gasLimit: message.gas,
      ...(message.to === null ? {} : { to: addressOf(message.to) }),
      value: message.value,
      data: message.data,
      skipNonceIncrement: true,
    })
    await evm.journal.cleanup()
    substate.refund = Number(execResult.gasRefund ?? 0n)
    for (const [address, topics, data] of execResult.logs ?? []) {
      substate.logs.push({ address: toHex(address), topics: topics.map(toHex), data })
    }
    for (const address of execResult.selfdestruct?.keys() ?? []) {
      // EIP-6780
      if (block.rules.ecotone && !execResult.createdAddresses?.has(address as Hex)) continue
      substate.noteDestroyed(address as Hex)
    }
    const { exceptionError, executionGasUsed, returnValue } = execResult
    const isRevert = exceptionError?.error === EVMError.errorMessages.REVERT
    return {
      gasUsed: executionGasUsed,
      output: returnValue,
      ...(exceptionError === undefined ? {} : { failure: isRevert ? 'execution reverted' : exceptionError.error }),
    }
  }
}

/**
 * EthereumJS refuses code that begins with 0xef (EIP-3541) even if the creation failed and the bytes are its revert
 * data. Then it would use all gas. So such data is hidden from it.
 */
class EthereumJs extends EVM {
  private revertData: Uint8Array | undefined

  protected override async _executeCreate(...[message]: Parameters<EVM['_executeCreate']>) {
    const result = await super._executeCreate(message)
    if (this.revertData !== undefined) result.execResult.returnValue = this.revertData
    this.revertData = undefined
    return result
  }

  protected override async runInterpreter(...[message, options]: Parameters<EVM['runInterpreter']>) {
    const result = await super.runInterpreter(message, options)
    if (message.isCreate !== true || result.exceptionError === undefined || result.returnValue[0] !== 0xef)
      return result
    this.revertData = result.returnValue
    return { ...result, returnValue: new Uint8Array(0) }
  }
}

function addressOf(address: Hex): Address {
  return new Address(fromHex(address, 20, 'address'))
}

function evmBlock(block: BlockContext): NonNullable<Parameters<EVM['runCall']>[0]['block']> {
  return {
    header: {
      number: BigInt(block.number),
      coinbase: addressOf(block.coinbase),
      timestamp: BigInt(block.timestamp),
      difficulty: 0n,
      prevRandao: fromHex(block.prevRandao, 32, 'prevRandao'),
      gasLimit: block.gasLimit,
      baseFeePerGas: block.baseFee,
      // Specs, ecotone/exec-engine: BLOBBASEFEE pushes 1.
      getBlobGasPrice: () => 1n,
    },
  }
}
