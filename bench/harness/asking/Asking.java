import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Asks one URL: Asking URL BYTES h1|h2, where BYTES are sent if there are any. */
public class Asking {
    public static void main(String[] words) throws Exception {
        int size = Integer.parseInt(words[1]);
        var version = words[2].equals("h2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1;
        var client = HttpClient.newBuilder().version(version).sslContext(trusting()).connectTimeout(Duration.ofSeconds(30)).build();
        var request = HttpRequest.newBuilder(URI.create(words[0]));
        if (size > 0) {
            request.POST(BodyPublishers.ofByteArray(new byte[size]));
        }
        client.send(request.build(), BodyHandlers.ofByteArray());
        System.exit(0);
    }

    private static SSLContext trusting() throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (var file = new FileInputStream(System.getenv("ORIGIN_CA"))) {
            store.setCertificateEntry("origin", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
