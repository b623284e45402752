//! What a filter configuration offers the application beyond Rack, and the copies that a stream makes of it on its worker.

use envoy_proxy_dynamic_modules_rust_sdk::{
    EnvoyHttpFilter,
    abi::{
        envoy_dynamic_module_type_attribute_id as Attribute,
        envoy_dynamic_module_type_metadata_source as MetadataSource,
    },
};

use super::metadata;
use crate::{
    config::{self, Config},
    exchange::{Arc, Certificate, Connection, Context, Extensions, Tls, Upstream, without_port},
};

/// The `context` and `upstream` parts of a configuration.
#[derive(Debug)]
pub struct Offers {
    context: Option<config::Context>,
    upstream: Option<Arc<Upstream>>,
}

impl Offers {
    /// Those of `config`; none where it has neither.
    pub fn new(config: &Config) -> Option<Arc<Self>> {
        let offers = Self { context: config.context.clone(), upstream: config.upstream.clone().map(Arc::new) };
        (offers.context.is_some() || offers.upstream.is_some()).then(|| Arc::new(offers))
    }

    /// What the request that `envoy` has at hand gets of them.
    pub fn extensions<EHF: EnvoyHttpFilter>(&self, envoy: &EHF) -> Extensions {
        let context = self.context.as_ref().map(|wanted| Arc::new(context(wanted, envoy)));
        Extensions { context, upstream: self.upstream.clone() }
    }
}

fn context<EHF: EnvoyHttpFilter>(wanted: &config::Context, envoy: &EHF) -> Context {
    let metadata = |source| metadata::copy(envoy, source, &wanted.metadata_namespaces);
    Context {
        route_name: string(envoy, Attribute::XdsRouteName),
        connection: connection(envoy),
        tls: tls(envoy),
        dynamic_metadata: metadata(MetadataSource::Dynamic),
        route_metadata: metadata(MetadataSource::Route),
    }
}

fn connection<EHF: EnvoyHttpFilter>(envoy: &EHF) -> Connection {
    let address = |id| without_port(&string(envoy, id).unwrap_or_default()).to_vec();
    let number = |id| envoy.get_attribute_int(id).and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    Connection {
        id: number(Attribute::ConnectionId),
        source_address: address(Attribute::SourceAddress),
        source_port: number(Attribute::SourcePort),
        destination_address: address(Attribute::DestinationAddress),
        destination_port: number(Attribute::DestinationPort),
        protocol: string(envoy, Attribute::RequestProtocol).unwrap_or_default(),
    }
}

fn tls<EHF: EnvoyHttpFilter>(envoy: &EHF) -> Option<Tls> {
    // Only TLS has a version.
    let version = string(envoy, Attribute::ConnectionTlsVersion)?;
    let certificate = Certificate {
        subject: string(envoy, Attribute::ConnectionSubjectPeerCertificate),
        uri_san: string(envoy, Attribute::ConnectionUriSanPeerCertificate),
        dns_san: string(envoy, Attribute::ConnectionDnsSanPeerCertificate),
        sha256_digest: string(envoy, Attribute::ConnectionSha256PeerCertificateDigest),
    };
    Some(Tls {
        version,
        server_name: string(envoy, Attribute::ConnectionRequestedServerName),
        mtls: envoy.get_attribute_bool(Attribute::ConnectionMtls).unwrap_or_default(),
        peer_certificate: Some(certificate).filter(|shown| shown.sha256_digest.is_some()),
    })
}

/// An attribute that is there and not empty.
fn string<EHF: EnvoyHttpFilter>(envoy: &EHF, id: Attribute) -> Option<Vec<u8>> {
    let value = envoy.get_attribute_string(id)?;
    Some(value.as_slice().to_vec()).filter(|value| !value.is_empty())
}
