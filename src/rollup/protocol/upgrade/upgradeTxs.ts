import { concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { isForkActivationBlock } from '../config/forks.ts'
import {
  DEPOSITOR_ACCOUNT,
  GAS_PRICE_ORACLE_ADDRESS,
  L1_BLOCK_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../constants.ts'
import type { DepositTx } from '../transaction/deposit.ts'
import { upgradeSourceHash } from '../transaction/sourceHash.ts'
import { type Fork, type RollupConfig, ZERO_ADDRESS } from '../types.ts'
import karstBundle from './karstBundle.generated.json' with { type: 'json' }
import { LAGOON_UPGRADE_GAS, lagoonUpgradeDeposits } from './lagoonUpgrade.ts'
import { BUNDLE_PINS, readUpgradeBundle } from './upgradeBundle.ts'
import code from './upgradeCode.generated.json' with { type: 'json' }

// The deposits of a fork's activation block (specs: {ecotone,fjord,isthmus,jovian,karst}/derivation, "Network upgrade
// automation transactions"). upgradeCode.generated.json holds the init code that the specifications publish
// (static/bytecode), and the init code of EIP-4788 and EIP-2935. karstBundle.generated.json holds Karst's transactions as
// in the activation block of a recorded chain.

/** upgradeTo(address) */
const UPGRADE_TO_SELECTOR = '0x3659cfe6'
const PROXY_UPDATE_GAS = 50_000n

type UpgradeFork = 'ecotone' | 'fjord' | 'isthmus' | 'jovian' | 'karst'
const UPGRADE_FORKS: readonly UpgradeFork[] = ['ecotone', 'fjord', 'isthmus', 'jovian', 'karst']

/**
 * Upgrade deposits of the L2 block at `l2Time`, in order; empty if it activates no fork. Throws DeviumError
 * (`upgrade-bundle-missing`) for Lagoon's activation block if the config lacks the bundle.
 */
export function upgradeDeposits(config: RollupConfig, l2Time: number): DepositTx[] {
  const isActivation = (fork: Fork) => isForkActivationBlock(config, fork, l2Time)
  const deposits = UPGRADE_FORKS.filter(isActivation).flatMap(upgradeDepositsOf)
  return isActivation('lagoon') ? [...deposits, ...lagoonUpgradeDeposits(config)] : deposits
}

/**
 * Gas that the block at `l2Time` gets in addition to the configured limit, for its upgrade deposits (specs:
 * karst/derivation). Deposits of earlier forks must fit into the limit.
 */
export function upgradeGas(config: RollupConfig, l2Time: number): bigint {
  const gasOf = (fork: Fork, gas: bigint) => (isForkActivationBlock(config, fork, l2Time) ? gas : 0n)
  return gasOf('karst', BUNDLE_PINS.karst.gas) + gasOf('lagoon', LAGOON_UPGRADE_GAS)
}

/**
 * The part of `upgradeGas` that is removed after the block. A config flag marks chains whose history keeps Karst's
 * part.
 */
export function upgradeGasToStrip(config: RollupConfig, l2Time: number): bigint {
  const isKept = config.keepKarstUpgradeGas === true && isForkActivationBlock(config, 'karst', l2Time)
  return upgradeGas(config, l2Time) - (isKept ? BUNDLE_PINS.karst.gas : 0n)
}

/** All upgrade deposits of one fork. */
export function upgradeDepositsOf(fork: UpgradeFork): readonly DepositTx[] {
  return UPGRADES[fork]()
}

const UPGRADES: Record<UpgradeFork, () => readonly DepositTx[]> = {
  ecotone: () => [
    deployment('Ecotone: L1 Block Deployment', deployer(0), 375_000n, code.ecotoneL1Block),
    deployment('Ecotone: Gas Price Oracle Deployment', deployer(1), 1_000_000n, code.ecotoneGasPriceOracle),
    proxyUpdate('Ecotone: L1 Block Proxy Update', L1_BLOCK_ADDRESS, '0x07dbe8500fc591d1852b76fee44d5a05e13097ff'),
    proxyUpdate(
      'Ecotone: Gas Price Oracle Proxy Update',
      GAS_PRICE_ORACLE_ADDRESS,
      '0xb528d11cc114e026f138fe568744c6d45ce6da7a',
    ),
    oracleCall('Ecotone: Gas Price Oracle Set Ecotone', 80_000n, '0x22b90ab3'),
    deployment(
      'Ecotone: beacon block roots contract deployment',
      '0x0b799c86a49deeb90402691f1041aa3af2d3c875',
      250_000n,
      code.beaconRoots,
    ),
  ],
  fjord: () => [
    deployment('Fjord: Gas Price Oracle Deployment', deployer(2), 1_450_000n, code.fjordGasPriceOracle),
    proxyUpdate(
      'Fjord: Gas Price Oracle Proxy Update',
      GAS_PRICE_ORACLE_ADDRESS,
      '0xa919894851548179a0750865e7974da599c0fac7',
    ),
    oracleCall('Fjord: Gas Price Oracle Set Fjord', 90_000n, '0x8e98b106'),
  ],
  isthmus: () => [
    deployment('Isthmus: L1 Block Deployment', deployer(3), 425_000n, code.isthmusL1Block),
    deployment('Isthmus: Gas Price Oracle Deployment', deployer(4), 1_625_000n, code.isthmusGasPriceOracle),
    deployment('Isthmus: Operator Fee Vault Deployment', deployer(5), 500_000n, code.isthmusOperatorFeeVault),
    proxyUpdate('Isthmus: L1 Block Proxy Update', L1_BLOCK_ADDRESS, '0xff256497d61dcd71a9e9ff43967c13fde1f72d12'),
    proxyUpdate(
      'Isthmus: Gas Price Oracle Proxy Update',
      GAS_PRICE_ORACLE_ADDRESS,
      '0x93e57a196454cb919193fa9946f14943cf733845',
    ),
    proxyUpdate(
      'Isthmus: Operator Fee Vault Proxy Update',
      OPERATOR_FEE_VAULT_ADDRESS,
      '0x4fa2be8cd41504037f1838bce3bcc93bc68ff537',
    ),
    oracleCall('Isthmus: Gas Price Oracle Set Isthmus', 90_000n, '0x291b0383'),
    deployment(
      'Isthmus: EIP-2935 Contract Deployment',
      '0x3462413af4609098e1e27a490f554f260213d685',
      250_000n,
      code.blockHashHistory,
    ),
  ],
  // The intents of op-node decide. The specification words four of them differently.
  jovian: () => [
    deployment('Jovian: L1 Block Deployment', deployer(6), 447_315n, code.jovianL1Block),
    proxyUpdate('Jovian: L1 Block Proxy Update', L1_BLOCK_ADDRESS, '0x3ba4007f5c922fbb33c454b41ea7a1f11e83df2c'),
    deployment('Jovian: Gas Price Oracle Deployment', deployer(7), 1_750_714n, code.jovianGasPriceOracle),
    proxyUpdate(
      'Jovian: Gas Price Oracle Proxy Update',
      GAS_PRICE_ORACLE_ADDRESS,
      '0x4f1db3c6abd250ba86e0928471a8f7db3afd88f1',
    ),
    oracleCall('Jovian: Gas Price Oracle Set Jovian', 90_000n, '0xb3d72079'),
  ],
  karst: () => readUpgradeBundle({ transactions: karstBundle }, [BUNDLE_PINS.karst]).deposits,
}

function deployment(intent: string, from: Hex, gas: bigint, initCode: string): DepositTx {
  return { ...upgradeDeposit(intent), from, to: null, gas, data: fromHex(initCode) }
}

function proxyUpdate(intent: string, proxy: Hex, implementation: Hex): DepositTx {
  const data = concatBytes(fromHex(UPGRADE_TO_SELECTOR), new Uint8Array(12), fromHex(implementation, 20))
  return { ...upgradeDeposit(intent), from: ZERO_ADDRESS, to: proxy, gas: PROXY_UPDATE_GAS, data }
}

function oracleCall(intent: string, gas: bigint, selector: Hex): DepositTx {
  return {
    ...upgradeDeposit(intent),
    from: DEPOSITOR_ACCOUNT,
    to: GAS_PRICE_ORACLE_ADDRESS,
    gas,
    data: fromHex(selector),
  }
}

function upgradeDeposit(intent: string): DepositTx {
  return {
    sourceHash: upgradeSourceHash(intent),
    from: ZERO_ADDRESS,
    to: null,
    mint: 0n,
    value: 0n,
    gas: 0n,
    isSystemTx: false,
    data: EMPTY_BYTES,
  }
}

/** The account that deploys the n-th contract of all upgrades. */
function deployer(index: number): Hex {
  return `0x42100000000000000000000000000000000000${index.toString().padStart(2, '0')}`
}
