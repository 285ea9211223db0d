import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { type FlagTable, type FlagValues, flag, parseList } from './flags.ts'

const GROUP = 'Remote signer'
const pemFile = (name: string, path: string, description: string) =>
  flag.string(GROUP, `signer.tls.${name}`, path, description, { placeholder: '<file>' })

/** op-service's flags of a remote signer. */
export const signerFlags = {
  signerEndpoint: flag.optional(GROUP, 'signer.endpoint', 'Address of the remote signer (http, https)', {
    placeholder: '<url>',
  }),
  signerAddress: {
    group: GROUP,
    name: 'signer.address',
    description: 'Ethereum address of the key that the remote signer uses',
    default: undefined,
    placeholder: '<address>',
    parse: parseAddress,
  },
  signerHeader: {
    group: GROUP,
    name: 'signer.header',
    description: 'HTTP headers for the remote signer',
    default: {} as Record<string, string>,
    placeholder: '<name=value,…>',
    repeatable: true,
    parse: parseHeaders,
  },
  signerTlsEnabled: flag.boolean(GROUP, 'signer.tls.enabled', 'Present a client certificate to the remote signer', {
    default: true,
  }),
  signerTlsCa: pemFile('ca', 'tls/ca.crt', "Certificate authority of the remote signer's certificate"),
  signerTlsCert: pemFile('cert', 'tls/tls.crt', 'Client certificate for the remote signer'),
  signerTlsKey: pemFile('key', 'tls/tls.key', 'Key of the client certificate'),
} satisfies FlagTable

/** Undefined when no remote signer is configured. Throws UsageError. */
export function remoteSignerFromFlags(values: FlagValues<typeof signerFlags>): RemoteSignerOptions | undefined {
  const { signerEndpoint: endpoint = '', signerAddress: address } = values
  if ((endpoint === '') !== (address === undefined)) {
    throw new UsageError('--signer.endpoint and --signer.address must both be set or not set')
  }
  if (endpoint === '' || address === undefined) return undefined
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
    throw new UsageError('--signer.endpoint: expected an address that begins with http:// or https://')
  }
  const tls = { caPath: values.signerTlsCa, certPath: values.signerTlsCert, keyPath: values.signerTlsKey }
  if (values.signerTlsEnabled && Object.values(tls).includes('')) {
    throw new UsageError('--signer.tls.ca, --signer.tls.cert and --signer.tls.key must all be set')
  }
  return { endpoint, address, headers: values.signerHeader, ...(values.signerTlsEnabled ? { tls } : {}) }
}

function parseAddress(text: string): Hex | undefined {
  if (text === '') return undefined
  if (!/^(0x)?[0-9a-fA-F]{40}$/.test(text)) throw new UsageError('expected an address of 20 bytes in hex')
  return `0x${text.replace(/^0x/, '').toLowerCase()}`
}

function parseHeaders(text: string): Record<string, string> {
  return Object.fromEntries(
    parseList(text).map((pair) => {
      const at = pair.indexOf('=')
      // The error does not repeat the header, which may hold a secret.
      if (at < 1) throw new UsageError('expected name=value')
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}
