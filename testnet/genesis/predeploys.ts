import { bigIntToBytes, concatBytes } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { isForkActive } from '../../src/rollup/protocol/index.ts'
import { roles } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { type ArtifactStore, fillImmutables } from '../contracts/artifact.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import type { GenesisAlloc } from './genesisFile.ts'

/** Low 16 bits of the address (0x4200…) of every predeploy with an implementation behind its proxy. */
export const PREDEPLOYS = {
  LegacyMessagePasser: 0x00,
  DeployerWhitelist: 0x02,
  L2CrossDomainMessenger: 0x07,
  GasPriceOracle: 0x0f,
  L2StandardBridge: 0x10,
  SequencerFeeVault: 0x11,
  OptimismMintableERC20Factory: 0x12,
  L1BlockNumber: 0x13,
  L2ERC721Bridge: 0x14,
  L1Block: 0x15,
  L2ToL1MessagePasser: 0x16,
  OptimismMintableERC721Factory: 0x17,
  ProxyAdmin: 0x18,
  BaseFeeVault: 0x19,
  L1FeeVault: 0x1a,
  SchemaRegistry: 0x20,
  EAS: 0x21,
} as const
type Predeploy = keyof typeof PREDEPLOYS

/** Predeploys.PREDEPLOY_COUNT: reserved addresses. Each has a proxy from genesis on. */
const PREDEPLOY_COUNT = 2048
/** WETH has code of its own, and 0x42 is reserved for GovernanceToken. Neither has a proxy. */
export const WETH = 0x06
const GOVERNANCE_TOKEN = 0x42

/** ERC-1967: keccak256("eip1967.proxy.admin") − 1 and keccak256("eip1967.proxy.implementation") − 1. */
const ADMIN_SLOT: Hex = '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103'
const IMPLEMENTATION_SLOT: Hex = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'

/** FeeVault: minimum withdrawal, and withdrawal network (1: L2). */
const MIN_WITHDRAWAL_WEI = 10n * 10n ** 18n
const WITHDRAWAL_NETWORK_L2 = 1n

export function predeployAddress(low: number): Hex {
  return `0x42${low.toString(16).padStart(38, '0')}`
}

/** Address of a predeploy's implementation (Predeploys.predeployToCodeNamespace). */
export function implementationAddress(low: number): Hex {
  return `0xc0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d3${low.toString(16).padStart(4, '0')}`
}

/** All predeploys: 2046 proxies, 17 implementations and WETH. */
export async function predeployAlloc(
  store: ArtifactStore,
  parameters: ChainParameters,
  l1: L1Addresses,
): Promise<GenesisAlloc> {
  const names = Object.keys(PREDEPLOYS).filter((name): name is Predeploy => name in PREDEPLOYS)
  const [proxy, weth, implementations] = await Promise.all([
    store.read('Proxy'),
    store.read('WETH'),
    Promise.all(names.map((name) => store.read(name))),
  ])
  const proxyCode = toHex(proxy.runtimeCode)
  const adminWord = wordOf(predeployAddress(PREDEPLOYS.ProxyAdmin))
  const alloc: GenesisAlloc = {}
  for (let low = 0; low < PREDEPLOY_COUNT; low++) {
    if (low === WETH || low === GOVERNANCE_TOKEN) continue
    alloc[predeployAddress(low)] = {
      balance: '0x0',
      nonce: '0x1',
      code: proxyCode,
      storage: { [ADMIN_SLOT]: adminWord },
    }
  }
  alloc[predeployAddress(WETH)] = { balance: '0x0', code: toHex(weth.runtimeCode) }

  const immutables = immutableValues(parameters)
  const storage = initialStorage(l1, parameters)
  for (const artifact of implementations) {
    const name = names.find((known) => known === artifact.name)
    if (name === undefined) continue
    const low = PREDEPLOYS[name]
    const proxyAccount = alloc[predeployAddress(low)]
    if (proxyAccount === undefined) continue
    const initialised = INITIALISED[name] === undefined ? {} : { [slot(0)]: INITIALISED[name] }
    proxyAccount.storage = {
      ...proxyAccount.storage,
      [IMPLEMENTATION_SLOT]: wordOf(implementationAddress(low)),
      ...initialised,
      ...storage[name],
    }
    alloc[implementationAddress(low)] = {
      balance: '0x0',
      code: toHex(fillImmutables(artifact, immutables[name] ?? [])),
      storage: initialised,
    }
  }
  return alloc
}

/**
 * Initializable's bytes in slot 0. The implementations have them too, so that nobody can initialise them. The messenger's bytes
 * come after an address of the legacy layout.
 */
const INITIALISED: Partial<Record<Predeploy, Hex>> = {
  L2CrossDomainMessenger: word(1n << 160n),
  L2StandardBridge: word(1n),
  L2ERC721Bridge: word(1n),
  OptimismMintableERC20Factory: word(1n),
}

/** The other storage that the initialisers write, by each contract's storage layout. */
function initialStorage(
  l1: L1Addresses,
  { forks, genesisTime }: ChainParameters,
): Partial<Record<Predeploy, Record<Hex, Hex>>> {
  const messenger = wordOf(predeployAddress(PREDEPLOYS.L2CrossDomainMessenger))
  return {
    L2CrossDomainMessenger: {
      // CrossDomainMessenger: xDomainMsgSender (Constants.DEFAULT_L2_SENDER, no sender yet), otherMessenger.
      [slot(0xcc)]: word(0xdeadn),
      [slot(0xcf)]: wordOf(l1.L1CrossDomainMessenger),
    },
    // StandardBridge: messenger, otherBridge.
    L2StandardBridge: { [slot(3)]: messenger, [slot(4)]: wordOf(l1.L1StandardBridge) },
    // ERC721Bridge: messenger, otherBridge.
    L2ERC721Bridge: { [slot(1)]: messenger, [slot(2)]: wordOf(l1.L1ERC721Bridge) },
    OptimismMintableERC20Factory: { [slot(1)]: wordOf(predeployAddress(PREDEPLOYS.L2StandardBridge)) },
    // isEcotone and isFjord, one byte each. No upgrade transaction sets them on a chain whose genesis has the forks.
    GasPriceOracle: { [slot(0)]: word(isForkActive({ forks }, 'fjord', genesisTime) ? 0x0101n : 0x01n) },
    ProxyAdmin: { [slot(0)]: wordOf(roles.owner.address) },
  }
}

/** Constructor arguments, in the order of declaration. */
function immutableValues({ l1ChainId, l2ChainId }: ChainParameters): Partial<Record<Predeploy, Uint8Array[]>> {
  const bytes = (value: bigint) => bigIntToBytes(value, 32)
  // FeeVault: MIN_WITHDRAWAL_AMOUNT, RECIPIENT, WITHDRAWAL_NETWORK.
  const vault = [bytes(MIN_WITHDRAWAL_WEI), bytes(BigInt(roles.owner.address)), bytes(WITHDRAWAL_NETWORK_L2)]
  return {
    SequencerFeeVault: vault,
    BaseFeeVault: vault,
    L1FeeVault: vault,
    // BRIDGE, REMOTE_CHAIN_ID.
    OptimismMintableERC721Factory: [
      bytes(BigInt(predeployAddress(PREDEPLOYS.L2ERC721Bridge))),
      bytes(BigInt(l1ChainId)),
    ],
    EAS: easImmutables(l2ChainId),
  }
}

/** OpenZeppelin's EIP712 caches (domain separator, chain id, contract, name, version, type), then the name as bytes32. */
function easImmutables(chainId: number): Uint8Array[] {
  const hash = (text: string) => keccak256(Buffer.from(text))
  const type = hash('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)')
  const name = hash('EAS')
  const version = hash('1.3.0')
  const chain = bigIntToBytes(BigInt(chainId), 32)
  const contract = fromHex(wordOf(predeployAddress(PREDEPLOYS.EAS)))
  const nameWord = new Uint8Array(32)
  nameWord.set(Buffer.from('EAS'))
  return [keccak256(concatBytes(type, name, version, chain, contract)), chain, contract, name, version, type, nameWord]
}

function slot(index: number): Hex {
  return word(BigInt(index))
}

function word(value: bigint): Hex {
  return toHex(bigIntToBytes(value, 32))
}

function wordOf(address: Hex): Hex {
  return word(BigInt(address))
}
