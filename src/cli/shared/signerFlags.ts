import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { type FlagValues, flag, flagGroup, parseList } from './flags.ts'
import { isHttpUrl } from './httpUrl.ts'

const NO_HEADERS: Record<string, string> = {}

/** op-service's flags of a remote signer. */
export const signerFlags = flagGroup('Remote signer', {
  'signer.endpoint': flag.optional('<url>', 'Address of the remote signer (http, https)'),
  'signer.address': flag.custom(
    '<address>',
    parseAddress,
    undefined,
    'Ethereum address of the key that the remote signer uses',
  ),
  'signer.header': flag.custom('<name=value,…>', parseHeaders, NO_HEADERS, 'HTTP headers for the remote signer', {
    repeatable: true,
    secret: true,
  }),
  'signer.tls.enabled': flag.boolean('Present a client certificate to the remote signer', { default: true }),
  'signer.tls.ca': flag.string('<file>', 'tls/ca.crt', "Certificate authority of the remote signer's certificate"),
  'signer.tls.cert': flag.string('<file>', 'tls/tls.crt', 'Client certificate for the remote signer'),
  'signer.tls.key': flag.string('<file>', 'tls/tls.key', 'Key of the client certificate'),
})

/** Undefined when no remote signer is configured. Throws UsageError. */
export function remoteSignerFromFlags(values: FlagValues<typeof signerFlags>): RemoteSignerOptions | undefined {
  const { signerEndpoint: endpoint = '', signerAddress: address } = values
  if ((endpoint === '') !== (address === undefined)) {
    throw new UsageError('--signer.endpoint and --signer.address must both be set or not set')
  }
  if (endpoint === '' || address === undefined) return undefined
  if (!isHttpUrl(endpoint)) {
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
      if (at < 1) throw new UsageError('expected name=value')
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}
