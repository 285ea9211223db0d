import { bigIntToBytes } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { ZERO_ADDRESS } from '../../src/rollup/protocol/types.ts'
import { roles } from '../accounts.ts'
import {
  BASE_FEE_SCALAR,
  BLOB_BASE_FEE_SCALAR,
  batchInboxAddress,
  type ChainParameters,
  L2_GAS_LIMIT,
} from '../chainParameters.ts'
import { type AbiValue, encodeCall, encodeDeployment } from '../contracts/abi.ts'
import type { ArtifactStore } from '../contracts/artifact.ts'
import type { TransactionRequest } from './transaction.ts'

/** Contracts behind a proxy, in the order in which the deployment creates the proxies. */
const PROXIED_CONTRACTS = [
  'SuperchainConfig',
  'ProtocolVersions',
  'SystemConfig',
  'OptimismPortal',
  'L1CrossDomainMessenger',
  'L1StandardBridge',
  'L1ERC721Bridge',
  'OptimismMintableERC20Factory',
  'L2OutputOracle',
] as const
export type ProxiedContract = (typeof PROXIED_CONTRACTS)[number]

/** Addresses of the proxies, and of the ProxyAdmin that owns them. */
export type L1Addresses = Record<ProxiedContract | 'ProxyAdmin', Hex>

/** One transaction of the deployment, in nonce order. */
export interface DeploymentStep extends TransactionRequest {
  what: string
}

// Measured: the largest creation (OptimismPortal) uses 5.1 million gas, and the largest initialisation uses 0.5 million.
const CREATION_GAS_LIMIT = 5_500_000
const CALL_GAS_LIMIT = 1_500_000

/** SystemConfig's marker for "ETH pays for gas" (Constants.ETHER in the contracts). */
const ETHER: Hex = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** Deposit price curve: the contracts' default (Constants.DEFAULT_RESOURCE_CONFIG). */
const RESOURCE_CONFIG: readonly AbiValue[] = [20_000_000, 10, 8, 1_000_000_000, 1_000_000, 2n ** 128n - 1n]

/** L1 blocks between two outputs, and the finalization period in seconds. Both are short for a testnet. */
const L1_BLOCKS_BETWEEN_OUTPUTS = 2
const FINALIZATION_PERIOD_SECONDS = 2

/** CREATE address: last 20 bytes of keccak256(rlp([sender, nonce])). */
export function contractAddress(sender: Hex, nonce: number): Hex {
  return toHex(keccak256(encodeRlp([fromHex(sender), nonce])).subarray(12))
}

/** Computes every address from the deployer's nonces: ProxyAdmin first, then proxies, then implementations. */
export function l1Addresses(deployer: Hex): L1Addresses {
  const proxies = PROXIED_CONTRACTS.map((name, index) => [name, contractAddress(deployer, 1 + index)])
  return { ...Object.fromEntries(proxies), ProxyAdmin: contractAddress(deployer, 0) }
}

/**
 * Plans the whole deployment. With ETH as gas token no initialiser calls another contract, so the initialisers can run in any
 * order.
 */
export async function planDeployment(store: ArtifactStore, parameters: ChainParameters): Promise<DeploymentStep[]> {
  const deployer = roles.owner.address
  const addresses = l1Addresses(deployer)
  const [proxyAdmin, proxy, ...implementations] = await Promise.all(
    ['ProxyAdmin', 'Proxy', ...PROXIED_CONTRACTS].map((name) => store.read(name)),
  )
  if (proxyAdmin === undefined || proxy === undefined) throw new RangeError('no artifacts')
  const creation = (what: string, data: Uint8Array): DeploymentStep => ({
    what,
    to: null,
    data,
    gasLimit: CREATION_GAS_LIMIT,
  })
  const initialisers = initialiserArguments(addresses, parameters)
  return [
    creation('ProxyAdmin', encodeDeployment(proxyAdmin, [deployer])),
    ...PROXIED_CONTRACTS.map((name) => creation(`proxy of ${name}`, encodeDeployment(proxy, [addresses.ProxyAdmin]))),
    ...implementations.map((artifact) =>
      creation(`implementation of ${artifact.name}`, encodeDeployment(artifact, [])),
    ),
    ...PROXIED_CONTRACTS.map((name, index): DeploymentStep => {
      const implementation = contractAddress(deployer, 1 + PROXIED_CONTRACTS.length + index)
      const initData = encodeCall(implementations[index]?.abi ?? [], 'initialize', initialisers[name])
      return {
        what: `initialisation of ${name}`,
        to: addresses.ProxyAdmin,
        data: encodeCall(proxyAdmin.abi, 'upgradeAndCall', [addresses[name], implementation, initData]),
        gasLimit: CALL_GAS_LIMIT,
      }
    }),
  ]
}

function initialiserArguments(
  addresses: L1Addresses,
  { blockTime, l1BlockTime, genesisTime, l2ChainId }: ChainParameters,
): Record<ProxiedContract, readonly AbiValue[]> {
  const owner = roles.owner.address
  const { SuperchainConfig, SystemConfig, OptimismPortal, L1CrossDomainMessenger, L1StandardBridge } = addresses
  const batcherHash = bigIntToBytes(BigInt(roles.batcher.address), 32)
  return {
    SuperchainConfig: [owner, false],
    ProtocolVersions: [owner, 0, 0],
    SystemConfig: [
      owner,
      BASE_FEE_SCALAR,
      BLOB_BASE_FEE_SCALAR,
      batcherHash,
      L2_GAS_LIMIT,
      roles.sequencer.address,
      RESOURCE_CONFIG,
      batchInboxAddress(l2ChainId),
      [
        L1CrossDomainMessenger,
        addresses.L1ERC721Bridge,
        L1StandardBridge,
        ZERO_ADDRESS,
        OptimismPortal,
        addresses.OptimismMintableERC20Factory,
        ETHER,
      ],
    ],
    OptimismPortal: [addresses.L2OutputOracle, SystemConfig, SuperchainConfig],
    L1CrossDomainMessenger: [SuperchainConfig, OptimismPortal, SystemConfig],
    L1StandardBridge: [L1CrossDomainMessenger, SuperchainConfig, SystemConfig],
    L1ERC721Bridge: [L1CrossDomainMessenger, SuperchainConfig],
    OptimismMintableERC20Factory: [L1StandardBridge],
    L2OutputOracle: [
      Math.ceil((L1_BLOCKS_BETWEEN_OUTPUTS * l1BlockTime) / blockTime),
      blockTime,
      0,
      genesisTime,
      roles.proposer.address,
      roles.challenger.address,
      FINALIZATION_PERIOD_SECONDS,
    ],
  }
}
