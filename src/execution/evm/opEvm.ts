import { Common, type CustomCrypto, Hardfork, Mainnet } from '@ethereumjs/common'
import type { EVMMockBlockchainInterface, EVMOpts } from '@ethereumjs/evm'
import { keccak256, sha256 } from '../../lib/hash.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { recoverPublicKey } from '../../lib/secp256k1.ts'
import type { EvmVersion, Rules } from '../chain/chainConfig.ts'
import type { WorldState } from '../state/worldState.ts'
import { EvmState } from './evmState.ts'
import { FastEvm } from './interpreter/fastEvm.ts'
import { opPrecompiles } from './precompiles/index.ts'

const HARDFORKS: Record<EvmVersion, Hardfork> = {
  paris: Hardfork.Paris,
  shanghai: Hardfork.Shanghai,
  cancun: Hardfork.Cancun,
  prague: Hardfork.Prague,
}

/** What Karst takes of Osaka that the EVM has to know of: CLZ. The precompiles are our own. */
const KARST_EIPS = [7939]

const CUSTOM_CRYPTO: CustomCrypto = {
  keccak256,
  sha256,
  ecrecover: (hash, v, r, s) => recoverPublicKey(hash, r, s, Number(v - 27n)),
}

/** Hash of an ancestor of the block being executed; undefined when there is none of that number. */
export type AncestorHash = (number: number) => Hex | undefined

/**
 * EthereumJS's EVM under one set of rules. It works on the state it is bound to; one execution at a time.
 */
export class OpEvm {
  readonly evm: FastEvm
  private readonly state = new EvmState()
  private ancestorHash: AncestorHash = () => undefined

  constructor(chainId: bigint, rules: Rules) {
    const common = new Common({
      chain: { ...Mainnet, chainId: chainId.toString() },
      hardfork: HARDFORKS[rules.evm],
      ...(rules.karst ? { eips: KARST_EIPS } : {}),
      customCrypto: CUSTOM_CRYPTO,
    })
    const blockchain: EVMMockBlockchainInterface = {
      getBlock: async (number) => {
        const hash = this.ancestorHash(number)
        if (hash === undefined) throw new Error(`hash of ancestor ${number} is not known`)
        return { hash: () => fromHex(hash) }
      },
      putBlock: async () => {},
      shallowCopy: () => blockchain,
    }
    const options: EVMOpts = {
      common,
      stateManager: this.state,
      blockchain,
      customPrecompiles: opPrecompiles(rules, () => this.evm.takeTurn()),
    }
    this.evm = new FastEvm(
      { world: () => this.state.bound(), ancestorHash: (number) => this.ancestorHash(number), rules, chainId },
      options,
    )
  }

  bind(world: WorldState, ancestorHash: AncestorHash): void {
    this.state.bind(world)
    this.ancestorHash = ancestorHash
    this.evm.journal.cleanJournal()
    this.evm.transientStorage.clear()
  }

  unbind(): void {
    this.state.bind(undefined)
    this.evm.onStep = undefined
    this.evm.client = undefined
  }
}
